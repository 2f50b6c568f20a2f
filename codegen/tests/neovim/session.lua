-- A session of Neovim 0.7 or newer with the language server: errors, hover, completion and definition, on the project's own rules. Prints what it sees, one
-- line each. The server is $OPMAP_SERVER, and the current folder is the project.

local function say(text)
    io.stdout:write(text:gsub("\n", " | ") .. "\n")
end

local function wait(what, condition)
    if not vim.wait(60000, condition, 20) then
        say("no " .. what)
        vim.cmd("cquit")
    end
end

vim.o.swapfile = false
vim.o.hidden = true
vim.cmd("edit mappings/aten/activation.opmap")
local file = vim.api.nvim_get_current_buf()
local client = vim.lsp.start_client({
    name = "opmap",
    cmd = { vim.env.OPMAP_SERVER, "--mappings", "mappings", "lsp" },
    root_dir = vim.fn.getcwd(),
})
vim.lsp.buf_attach_client(file, client)
wait("server", function()
    return vim.lsp.get_client_by_id(client) ~= nil and vim.lsp.buf_get_clients(file)[client] ~= nil
end)

-- The cursor on the text, at the column of its first letter plus `more`.
local function go_to(text, more)
    vim.fn.cursor(1, 1)
    assert(vim.fn.search("\\V" .. text, "cW") > 0, text)
    local place = vim.fn.getcurpos()
    vim.fn.cursor(place[2], place[3] + (more or 0))
end

local function replace(old, new)
    go_to(old)
    local line = vim.api.nvim_get_current_line()
    local at = line:find(old, 1, true)
    vim.api.nvim_set_current_line(line:sub(1, at - 1) .. new .. line:sub(at + #old))
end

local function ask(method)
    local answers = vim.lsp.buf_request_sync(file, method, vim.lsp.util.make_position_params(0, "utf-16"), 60000)
    return answers[client].result
end

replace("Celu(self, alpha_f", "Cellu(self, alpha_f")
wait("error", function()
    return #vim.diagnostic.get(file) > 0
end)
for _, error in ipairs(vim.diagnostic.get(file)) do
    say("error " .. error.lnum + 1 .. " " .. error.message)
end
replace("Cellu(self, alpha_f", "Celu(self, alpha_f")
wait("repair", function()
    return #vim.diagnostic.get(file) == 0
end)
say("repaired")

go_to("Celu(self, alpha_f", 1)
say("hover " .. ask("textDocument/hover").contents.value:sub(1, 60))

go_to("elu_of(self, alpha)", 3)
local items = vim.lsp.util.text_document_completion_list_to_complete_items(ask("textDocument/completion"), "elu")
say("completion " .. items[1].word)

go_to("elu_of(self, alpha)", 1)
vim.lsp.buf.definition()
wait("definition", function()
    return vim.api.nvim_get_current_buf() ~= file
end)
say("definition " .. vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ":.") .. " " .. vim.fn.expand("<cword>"))
vim.cmd("qall!")
