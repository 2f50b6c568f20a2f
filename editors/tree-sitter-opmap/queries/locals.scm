; An item is a scope, and so are blocks, arms, closures and comprehensions.
[
  (map)
  (lower)
  (raise)
  (fuse)
  (function)
  (block)
  (arm)
  (closure)
  (comprehension)
  (fold)
] @local.scope

(parameter name: (name) @local.definition.parameter)
(lower_parameters (name) @local.definition.parameter)
(closure (name) @local.definition.parameter)
(let pattern: (name) @local.definition.var)
(let pattern: (tuple_binding (name) @local.definition.var))
(if pattern: (name) @local.definition.var)
(comprehension pattern: (name) @local.definition.var)
(comprehension pattern: (tuple_binding (name) @local.definition.var))
(fold pattern: (name) @local.definition.var)
(fold state: (name) @local.definition.var)

(name) @local.reference
