// Search, the opset of the reader, and the choice of opsets at examples. Pages are complete without it.
'use strict';

const root = document.documentElement.dataset.root;
const kinds = { op: 'PyTorch', onnx: 'ONNX', lowering: 'rule', helper: 'helper', runtime: 'runtime', opset: 'opset', error: 'error', doc: 'document' };
const order = Object.keys(kinds);
const words = { n: 'works', l: 'works, lowered,', p: 'partly works', x: 'refused' };

// The opset that the reader chose, which pages mark. A browser may forbid storage for files.
const chosen = {
  get() { try { return localStorage.getItem('opset') || ''; } catch { return ''; } },
  set(opset) { try { localStorage.setItem('opset', opset); } catch { /* it is then forgotten */ } },
};

/** A number for how well an entry fits the words; the lowest is the best. None if it does not. */
function rank(entry, terms) {
  const name = entry[1].toLowerCase();
  const last = name.slice(name.lastIndexOf('::') + 1).replace(/^:/, '');
  let sum = 0;
  for (const term of terms) {
    if (name === term || last === term) continue;
    if (last.split('.')[0] === term) sum += 1;
    else if (last.startsWith(term)) sum += 2;
    else if (name.includes(term)) sum += 4;
    else if (entry[3].toLowerCase().includes(term)) sum += 9;
    else return undefined;
  }
  return sum * 1000 + order.indexOf(entry[0]) * 100 + Math.min(name.length, 99);
}

function found(text) {
  const terms = text.toLowerCase().replace(/\btorch\.(ops\.)?(nn\.functional\.)?/g, '').split(/\s+/).filter(Boolean);
  if (!terms.length) return [];
  const all = [];
  for (const entry of window.SEARCH || []) {
    const value = rank(entry, terms);
    if (value !== undefined) all.push([value, entry]);
  }
  all.sort((a, b) => a[0] - b[0]);
  return all.slice(0, 30).map(row => row[1]);
}

/** Text in an element. */
function made(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function option(entry, index, opset) {
  const [kind, name, url, hint, letters] = entry;
  const item = made('li');
  item.setAttribute('role', 'option');
  item.id = `result-${index}`;
  item.append(made('span', 'kind', kinds[kind]));
  const link = made('a', '', name);
  link.href = root + url;
  link.tabIndex = -1;
  item.append(link);
  const at = opset ? letters[window.OPSETS.indexOf(Number(opset))] : undefined;
  if (at) {
    item.append(made('span', `pill ${at}`, `${words[at]} at ${opset}`));
  } else if (letters) {
    const strip = made('span', 'strip');
    strip.setAttribute('aria-hidden', 'true');
    for (const letter of letters) strip.append(made('i', letter));
    item.append(strip);
  } else {
    item.append(made('span'));
  }
  if (hint) item.append(made('span', 'hint', hint));
  item.addEventListener('click', () => { link.click(); });
  link.addEventListener('click', event => event.stopPropagation());
  return item;
}

function search(input) {
  const list = document.getElementById('results');
  const select = document.getElementById('opset');
  let at = -1;
  const mark = to => {
    const options = [...list.children];
    at = options.length ? (to + options.length) % options.length : -1;
    options.forEach((item, index) => item.setAttribute('aria-selected', index === at));
    if (at >= 0) {
      input.setAttribute('aria-activedescendant', options[at].id);
      options[at].scrollIntoView({ block: 'nearest' });
    } else {
      input.removeAttribute('aria-activedescendant');
    }
  };
  const show = () => {
    const text = input.value.trim();
    const entries = found(text);
    list.replaceChildren(...entries.map((entry, index) => option(entry, index, chosen.get())));
    if (text && !entries.length) {
      const none = made('li', 'note', 'Nothing has this name.');
      none.setAttribute('role', 'option');
      none.setAttribute('aria-disabled', 'true');
      list.append(none);
    }
    list.hidden = !text;
    input.setAttribute('aria-expanded', String(Boolean(text)));
    mark(entries.length ? 0 : -1);
  };
  input.addEventListener('input', show);
  input.addEventListener('focus', () => { if (input.value) show(); });
  input.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown') { mark(at + 1); event.preventDefault(); }
    else if (event.key === 'ArrowUp') { mark(at - 1); event.preventDefault(); }
    else if (event.key === 'Enter' && at >= 0) { list.children[at].querySelector('a')?.click(); event.preventDefault(); }
    else if (event.key === 'Escape') { list.hidden = true; input.setAttribute('aria-expanded', 'false'); }
  });
  document.addEventListener('click', event => {
    if (!event.target.closest('.find, .ask, #results')) { list.hidden = true; input.setAttribute('aria-expanded', 'false'); }
  });
  document.addEventListener('keydown', event => {
    const typing = event.target.closest?.('input, select, textarea') || event.target.isContentEditable;
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) { input.focus(); event.preventDefault(); }
  });
  if (select) {
    select.value = chosen.get();
    select.addEventListener('change', () => { chosen.set(select.value); show(); markOpset(); input.focus(); });
  }
  if (input.value) show();
}

/** Marks the column of the reader's opset. */
function markOpset() {
  const opset = chosen.get();
  document.querySelectorAll('.mine').forEach(element => element.classList.remove('mine'));
  if (!opset) return;
  for (const table of document.querySelectorAll('.matrix, .grid:not(.strips)')) {
    const heads = [...table.querySelectorAll('thead th')];
    const column = heads.findIndex(head => head.textContent.trim() === opset);
    if (column < 0) continue;
    for (const row of table.rows) row.cells[column]?.classList.add('mine');
  }
}

/** Filters a table by name. */
function filter(input) {
  const rows = [...document.querySelectorAll('.strips tbody tr')];
  const count = document.getElementById('count');
  const apply = () => {
    const terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !terms.every(term => text.includes(term));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = terms.length ? `${shown} of ${rows.length}` : '';
  };
  input.closest('.filter').hidden = false;
  input.addEventListener('input', apply);
  apply();
}

const classes = { a: 'added', r: 'removed', c: 'changed' };
const operators = new Map((window.SEARCH || []).filter(entry => entry[0] === 'onnx').map(entry => [entry[1], entry[2]]));

/** Makes each line of a node an element with the node's path, and its operator a link. */
function lines(pre) {
  const paths = pre.dataset.paths.split(' ');
  const code = pre.firstElementChild;
  const pieces = code.textContent.split(/(?<=\n)/).map((text, index) => {
    const path = paths[index];
    if (!path || path === '-') return text;
    const line = made('span');
    line.dataset.n = path;
    const [, before, op, after] = /^(.*? = )([\w.:]+)(.*)$/s.exec(text) || [];
    if (!operators.has(op)) {
      line.textContent = text;
      return line;
    }
    const link = made('a', 'o', op);
    link.href = root + operators.get(op);
    line.append(before, link, after);
    return line;
  });
  code.replaceChildren(...pieces);
}

/** The text that a page keeps compressed. */
async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
}

/** Shows the drawings and whole texts of an example's large graphs. */
async function unpack(details) {
  if (!details.dataset.packed || !window.DecompressionStream) return;
  const [differences, places, ...parts] = (await unpacked(details.dataset.packed)).split('\0');
  details.removeAttribute('data-packed');
  if (differences) details.dataset.diff = differences;
  const large = places.split(' ').filter(Boolean);
  large.forEach((place, index) => {
    const [svg, text, paths] = [0, 1, 2].map(kind => parts[kind * large.length + index]);
    const section = details.querySelector(`.graph[data-graph="${place}"]`);
    const pre = section.querySelector('pre');
    pre.dataset.paths = paths;
    pre.firstElementChild.textContent = text;
    if (!svg) return;
    const drawing = made('div', 'drawing');
    drawing.tabIndex = 0;
    drawing.setAttribute('role', 'group');
    drawing.setAttribute('aria-label', `Drawing, ${section.getAttribute('aria-label').toLowerCase()}`);
    drawing.innerHTML = svg;
    section.querySelector('.packed').replaceWith(drawing);
    section.querySelector('details.text').open = false;
  });
}

/** The buttons for the opsets of an example, and the choice of a second one to compare with. */
async function example(details) {
  const bar = details.querySelector('.cells');
  if (!bar) return;
  await unpack(details);
  details.querySelectorAll('[data-paths]').forEach(lines);
  const states = bar.dataset.cells.trim().split(' ').map(cell => cell.split(':'));
  const sections = new Map([...details.querySelectorAll('.graph')].map(section => [section.dataset.graph, section]));
  const graphs = details.querySelector('.graphs');
  const differences = new Map(details.dataset.diff.split(';').filter(Boolean).map(pair => {
    const [key, sides] = pair.split(':');
    const marks = side => side.split(' ').filter(Boolean).map(mark => [mark.slice(0, -1), classes[mark.slice(-1)]]);
    return [key, sides.split('|').map(marks)];
  }));
  const refusals = [...details.querySelectorAll('[data-refusal]')];
  const newest = [...states].reverse().find(state => state[1] !== 'x') || states[states.length - 1];
  const mine = states.find(state => state[0] === chosen.get());
  let opset = (mine || newest)?.[0];
  let other = '';
  bar.className = 'bar-of';
  bar.hidden = false;
  const group = made('div', 'opsets');
  group.setAttribute('role', 'group');
  group.setAttribute('aria-label', 'Opset');
  let form = 0;
  const buttons = states.map(([number, state], index) => {
    if (index && state !== states[index - 1][1]) form = 1 - form;
    const button = made('button', `form${form}${state === 'x' ? ' none' : ''}`, number);
    button.type = 'button';
    button.title = state === 'x' ? `opset ${number}: refused` : `opset ${number}`;
    button.addEventListener('click', () => { opset = number; update(); });
    group.append(button);
    return button;
  });
  const label = made('label', '', 'compare with ');
  const select = made('select');
  select.append(new Option('nothing', ''));
  for (const [number, state] of states) if (state !== 'x') select.append(new Option(`opset ${number}`, number));
  select.addEventListener('change', () => { other = select.value; update(); });
  label.append(select);
  const told = made('span', 'told');
  told.setAttribute('aria-live', 'polite');
  bar.append(made('span', '', 'Opset'), group, label, told);

  const stateOf = number => states.find(state => state[0] === number)?.[1];
  function clear(section) {
    for (const node of section.querySelectorAll('[data-n]')) node.classList.remove('added', 'removed', 'changed');
  }
  function mark(section, marks) {
    let count = 0;
    for (const [path, name] of marks) {
      for (const node of section.querySelectorAll(`[data-n="${path}"]`)) node.classList.add(name);
      count += 1;
    }
    return count;
  }
  function update() {
    buttons.forEach((button, index) => button.setAttribute('aria-pressed', String(states[index][0] === opset)));
    const own = stateOf(opset);
    const second = other ? stateOf(other) : undefined;
    const shown = second !== undefined && second !== own ? [own, second] : [own];
    shown.sort((a, b) => a - b);
    for (const [index, section] of sections) {
      clear(section);
      section.hidden = !shown.includes(index);
    }
    refusals.forEach(refusal => { refusal.hidden = own !== 'x' && shown.length < 2; });
    graphs.classList.toggle('pair', shown.length === 2);
    told.textContent = '';
    if (own === 'x') {
      told.textContent = `refused at opset ${opset}`;
    } else if (second !== undefined && second === own) {
      told.textContent = `the same nodes at opset ${opset} and ${other}`;
    }
    const difference = shown.length === 2 && differences.get(shown.join('-'));
    if (difference) {
      const [old, young] = shown.map((index, side) => mark(sections.get(index), difference[side]));
      told.textContent = `${old} of the older nodes and ${young} of the newer differ`;
    }
  }
  update();
}

for (const find of document.querySelectorAll('.top .find')) find.hidden = false;
const input = document.getElementById('q');
if (input) search(input);
const names = document.getElementById('filter');
if (names) filter(names);
markOpset();
// Examples that are closed are made ready when they are opened.
for (const details of document.querySelectorAll('details.example')) {
  const ready = () => { if (details.open && !details.dataset.ready) { details.dataset.ready = 'yes'; example(details); } };
  details.addEventListener('toggle', ready);
  ready();
}
const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
const opened = () => {
  const element = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (element?.tagName === 'DETAILS') { element.open = true; element.scrollIntoView(); }
};
if (target) opened();
window.addEventListener('hashchange', opened);
