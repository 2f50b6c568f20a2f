; What each word is. Later patterns win in Neovim, earlier ones in Helix: no two patterns here give one node different names, but for names.

(comment) @comment
[(doc_comment) (file_comment)] @comment.documentation

[(string) (quoted)] @string
(number) @number

[
  "map" "lower" "raise" "fuse" "same" "pub" "fn" "extern" "unsupported" "import_domain"
  "view" "write" "update" "rewrite" "fact" "example"
  "before" "from" "avoided" "as" "with" "is" "emits" "because"
] @keyword

["if" "else" "match"] @keyword.conditional
["for" "in" "fold"] @keyword.repeat
["let" "since" "ignore" "fail"] @keyword
"return" @keyword.return

["-" "!" "??" "||" "&&" "==" "!=" "<" "<=" ">" ">=" "+" "*" "/" "%" "**" "=" "->" "=>" ".." "|" "?"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";"] @punctuation.delimiter

(type (dotted (name) @type))
(alias) @type
(tensor type: (name) @type)
(literal type: (name) @type)

(function name: (name) @function)
(extern_function name: (name) @function)
(fuse name: (name) @function)
(path) @function

(call function: (name) @function.call (#match? @function.call "^[a-z_{]"))
(call function: (name) @constructor (#match? @constructor "^[A-Z]"))
(lower name: (name) @constructor)
(raise name: (name) @constructor)
(same name: (name) @constructor)
(emits (name) @constructor)
(example name: (name) @constructor)
(example_node (name) @constructor)

(parameter name: (name) @variable.parameter)
(lower_parameters (name) @variable.parameter)
(rest (name) @variable.parameter)
(closure (name) @variable.parameter)
(named_argument name: (name) @variable.member)
(example_argument name: (name) @variable.member)
(size (name) @variable)

(clause (name) @attribute)
(is (name) @attribute)
(row key: (dotted (name) @string.special.symbol))
