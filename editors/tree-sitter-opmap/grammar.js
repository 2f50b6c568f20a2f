/**
 * @file opmap, the rule language of aten2onnx
 * @license Apache-2.0 OR MIT
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

// The grammar of the compiler is codegen/opmap/src/syntax/grammar.pest. This one takes every file that that one takes; a test holds them
// together over all mapping files and the blocks of the documentation.

// From the loosest to the tightest.
const PRECEDENCE = { closure: 1, coalesce: 2, or: 3, and: 4, compare: 5, add: 6, multiply: 7, power: 8, unary: 9, postfix: 10 };

// A placeholder, `{Op}`, is replaced with a column of a family.
const NAME = /(?:[A-Za-z_]|\{[A-Za-z_][A-Za-z0-9_]*\})(?:[A-Za-z0-9_]|\{[A-Za-z_][A-Za-z0-9_]*\})*/;
const PATH = /(?:[A-Za-z_{])(?:[A-Za-z0-9_{}.])*::(?:[A-Za-z_]|\{[A-Za-z_][A-Za-z0-9_]*\})(?:[A-Za-z0-9_]|\{[A-Za-z_][A-Za-z0-9_]*\})*(?:\.(?:[A-Za-z_]|\{[A-Za-z_][A-Za-z0-9_]*\})(?:[A-Za-z0-9_]|\{[A-Za-z_][A-Za-z0-9_]*\})*)?/;

/** One or more with commas between them, and perhaps one after the last. */
const listed = (rule) => seq(rule, repeat(seq(',', rule)), optional(','));

module.exports = grammar({
  name: 'opmap',

  word: ($) => $.name,

  extras: ($) => [/[\s\uFEFF]/, $.comment, $.doc_comment, $.file_comment],

  supertypes: ($) => [$._item, $._expression],

  conflicts: ($) => [],

  rules: {
    source_file: ($) => repeat($._item),

    _item: ($) =>
      choice(
        $.map,
        $.lower,
        $.raise,
        $.fuse,
        $.same,
        $.function,
        $.extern_function,
        $.unsupported,
        $.import_domain,
        $.fact,
        $.example,
      ),

    // -------------------------------------------------------------- items

    map: ($) =>
      seq(
        'map',
        field('name', $.path),
        field('parameters', $.parameters),
        '->',
        field('returns', choice($.returns, alias($.bare_return, $.return))),
        optional($.since),
        $._body,
        optional($.rows),
      ),
    returns: ($) => seq('(', optional(listed($.return)), ')'),
    bare_return: ($) => prec.right(seq($.type, optional(field('name', $.name)))),
    return: ($) => prec.right(seq($._type, optional(field('name', $.name)))),

    lower: ($) =>
      seq(
        'lower',
        field('name', $._operator),
        choice(seq('before', field('opset', $.number)), 'avoided'),
        $.lower_parameters,
        optional($.outputs),
        $._body,
      ),
    raise: ($) =>
      seq('raise', field('name', $._operator), 'from', field('opset', $.number), $.lower_parameters, optional($.outputs), $._body),
    lower_parameters: ($) => seq('(', optional(listed(choice($.name, $.rest))), ')'),
    rest: ($) => seq('..', $.name),
    outputs: ($) => seq('->', choice(seq('(', optional(listed($.name)), ')'), seq('[', listed($.name), ']'))),

    fuse: ($) =>
      seq(
        'fuse',
        field('name', $.name),
        field('parameters', $.parameters),
        'from',
        field('pattern', $._expression),
        optional(seq('if', field('condition', $._expression))),
        $._body,
      ),

    same: ($) => seq('same', field('name', $._operator), $.number, 'as', $.number, $.string),
    unsupported: ($) => seq('unsupported', field('name', $.path), $.string),
    import_domain: ($) => seq('import_domain', $.string, $.number),

    fact: ($) =>
      seq(
        field('keyword', choice('view', 'write', 'update', 'rewrite', 'fact')),
        field('name', $.path),
        optional(seq($.clause, repeat(seq(',', $.clause)))),
        optional(seq('=', field('value', $._expression))),
      ),
    // The words of clauses may be keywords elsewhere.
    clause: ($) => repeat1(choice($.name, alias(choice('if', 'in', 'for'), $.name))),

    function: ($) =>
      seq(
        optional('pub'),
        'fn',
        field('name', $.name),
        field('parameters', $.parameters),
        '->',
        field('returns', $._type),
        $._body,
      ),
    extern_function: ($) =>
      seq(
        optional('pub'),
        'extern',
        'fn',
        field('name', $.name),
        field('parameters', $.parameters),
        '->',
        field('returns', $._type),
        optional($.is),
        optional($.emits),
        optional($.because),
        repeat($.since),
      ),
    is: ($) => seq('is', $.name, '(', optional(listed($.name)), ')'),
    emits: ($) => seq('emits', '[', optional(listed($._operator)), ']'),
    because: ($) => seq('because', $.string),

    parameters: ($) => seq('(', optional(listed(choice('*', $.parameter))), ')'),
    // Schemas have parameters with the names of keywords.
    parameter: ($) =>
      seq(
        field('type', $._type),
        field('name', choice($.name, alias(choice('in', 'from', 'if', 'for', 'match', 'fold'), $.name))),
        optional(seq('=', field('default', $._default))),
      ),
    _default: ($) => choice($.default_list, $.string, $.quoted, $.default_number, seq(optional('-'), $.dotted)),
    default_list: ($) => seq('[', optional(listed($._default)), ']'),
    default_number: ($) => seq(optional('-'), $.number, optional(token.immediate('.'))),

    _type: ($) => choice($.type, $.tuple_type),
    type: ($) => prec.right(seq($.dotted, repeat($._type_mark))),
    tuple_type: ($) => prec.right(seq('(', optional(listed($._type)), ')', repeat($._type_mark))),
    _type_mark: ($) => choice('?', seq('[', optional($.number), ']'), $.alias),
    alias: (_) => token.immediate(/\([a-z*][a-z|]*!?( *-> *[a-z*][a-z|]*!?)?\)/),

    rows: ($) => seq('for', '{', repeat($.row), '}'),
    row: ($) => seq(field('key', $.dotted), optional(seq('=>', choice(seq('(', optional(listed($._column)), ')'), $._column))), optional(',')),
    _column: ($) => choice(seq(optional('-'), $.number), $.string, $.path, seq(optional('-'), $.name)),

    _body: ($) => choice(seq('=', field('value', $._expression)), field('body', $.block)),

    // -------------------------------------------------------- statements

    block: ($) => seq('{', repeat($._statement), optional(field('result', $._expression)), '}'),
    _statement: ($) => choice($.let, $.ignore, $.return_statement, $._block_statement, seq($._expression, ';')),
    // An `if`, `match` or block at the start of a statement ends it.
    _block_statement: ($) => prec(1, seq(choice($.if, $.match, $.block), optional(';'))),
    let: ($) => seq('let', field('pattern', $._binding), '=', field('value', $._expression), ';'),
    ignore: ($) => seq('ignore', '(', $.name, ')', $.string, ';'),
    return_statement: ($) => seq('return', $._expression, ';'),
    since: ($) => seq('since', field('opset', $.number), field('reason', $.string)),
    _binding: ($) => choice($.name, $.tuple_binding),
    tuple_binding: ($) => seq('(', listed($.name), ')'),

    // ------------------------------------------------------- expressions

    _expression: ($) =>
      choice(
        $.number,
        $.string,
        $.call,
        $.name,
        $.path,
        $.unary,
        $.binary,
        $.index,
        $.parenthesized,
        $.list,
        $.if,
        $.match,
        $.fold,
        $.fail,
        $.since,
        $.closure,
        $.block,
      ),

    unary: ($) => prec(PRECEDENCE.unary, seq(choice('-', '!'), $._expression)),
    binary: ($) => {
      const table = [
        [PRECEDENCE.coalesce, '??'],
        [PRECEDENCE.or, '||'],
        [PRECEDENCE.and, '&&'],
        [PRECEDENCE.compare, choice('==', '!=', '<', '<=', '>', '>=', 'in')],
        [PRECEDENCE.add, choice('+', '-')],
        [PRECEDENCE.multiply, choice('*', '/', '%')],
        [PRECEDENCE.power, '**'],
      ];
      return choice(
        ...table.map(([precedence, operator]) =>
          prec.left(precedence, seq(field('left', $._expression), field('operator', operator), field('right', $._expression))),
        ),
      );
    },
    index: ($) =>
      prec(
        PRECEDENCE.postfix,
        seq($._expression, '[', choice($._expression, seq(optional($._expression), '..', optional($._expression))), ']'),
      ),

    call: ($) => prec(PRECEDENCE.postfix, seq(field('function', choice($.name, $.path)), field('arguments', $.arguments))),
    arguments: ($) => seq('(', optional(listed($._argument)), ')'),
    _argument: ($) => choice($.spread, $.named_argument, $._expression),
    spread: ($) => seq('..', $._expression),
    named_argument: ($) => seq(field('name', $.name), '=', field('value', $._expression)),

    parenthesized: ($) => seq('(', listed($._expression), ')'),
    list: ($) => seq('[', optional(choice($.comprehension, listed(choice($.spread, $._expression)))), ']'),
    comprehension: ($) =>
      seq(
        $._expression,
        'for',
        field('pattern', $._binding),
        'in',
        field('list', $._expression),
        optional(seq('if', field('condition', $._expression))),
      ),

    if: ($) =>
      prec.right(
        seq(
          'if',
          choice(field('condition', $._expression), seq('let', field('pattern', $.name), '=', field('value', $._expression))),
          $.block,
          optional(seq('else', choice($.if, $.block))),
        ),
      ),
    match: ($) => seq('match', field('value', $._expression), '{', repeat($.arm), '}'),
    arm: ($) => seq($._pattern, repeat(seq('|', $._pattern)), '=>', field('value', $._expression), optional(',')),
    _pattern: ($) => choice(seq(optional('-'), $.number), $.string, $.name, $.tuple_pattern),
    tuple_pattern: ($) => seq('(', listed($._pattern), ')'),
    fold: ($) =>
      seq(
        'fold',
        field('state', $._binding),
        '=',
        field('initial', $._expression),
        'for',
        field('pattern', $._binding),
        'in',
        field('list', $._expression),
        $.block,
      ),
    fail: ($) => seq('fail', $.string),
    closure: ($) =>
      prec(
        PRECEDENCE.closure,
        seq(choice('||', seq('|', optional(listed(choice($.name, $.rest))), '|')), field('body', $._expression)),
      ),

    // ---------------------------------------------------------- examples

    example: ($) =>
      seq(
        'example',
        field('name', $._operator),
        optional(seq('from', field('opset', $.number))),
        $.example_arguments,
        optional($.with),
      ),
    example_arguments: ($) => seq('(', optional(listed(choice($.example_argument, $._example_value))), ')'),
    example_argument: ($) => seq(field('name', $.name), '=', $._example_value),
    _example_value: ($) =>
      choice(seq(optional('-'), $.number), $.string, $.closure, $.example_list, $.tensor, $.literal, $.example_node, seq(optional('-'), $.name)),
    example_node: ($) => seq($.name, $.example_arguments),
    example_list: ($) => seq('[', optional(listed($._example_value)), ']'),
    tensor: ($) => seq(field('type', $.name), '[', optional(listed(choice($.number, $.name))), ']', optional($.bounds)),
    bounds: ($) => seq('in', $._bound, '..', $._bound),
    _bound: ($) => seq(optional('-'), choice($.number, $.name)),
    literal: ($) => seq(field('type', $.name), $.elements),
    elements: ($) => seq('{', optional(listed(choice($.elements, $._bound))), '}'),
    with: ($) => seq('with', $.size, repeat(seq(',', $.size))),
    size: ($) => seq($.name, '=', $.number),

    // ------------------------------------------------------------- words

    _operator: ($) => choice($.name, $.path),
    dotted: ($) => prec.right(seq($.name, repeat(seq(token.immediate('.'), $.name)))),
    path: (_) => token(prec(1, PATH)),
    name: (_) => NAME,
    number: (_) => /[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/,
    string: (_) => /"(?:\\[^\r\n]|[^"\\\r\n])*"/,
    quoted: (_) => /'(?:\\[^\r\n]|[^'\\\r\n])*'/,

    comment: (_) => token(/\/\/(?:[^\/!\r\n][^\r\n]*|\/\/[^\r\n]*)?/),
    doc_comment: (_) => token(prec(1, /\/\/\/(?:[^\/\r\n][^\r\n]*)?/)),
    file_comment: (_) => token(prec(1, /\/\/![^\r\n]*/)),
  },
});
