[
  (block)
  (match)
  (rows)
  (arguments)
  (parameters)
  (list)
  (lower_parameters)
] @fold

(comment)+ @fold
(doc_comment)+ @fold
