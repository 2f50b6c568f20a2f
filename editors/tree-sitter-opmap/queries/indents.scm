[
  (block)
  (match)
  (rows)
  (arguments)
  (parameters)
  (lower_parameters)
  (list)
  (elements)
] @indent.begin

["}" ")" "]"] @indent.branch @indent.end
