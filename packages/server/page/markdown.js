// Markdown as elements. Answers are not trusted: no text is ever read as HTML, nothing is loaded, and links lead only to web pages and
// mail addresses.
import { copyButton } from './copy.js';
import { element, wideBox } from './elements.js';
import { lexer } from './marked.js';

/** Quotes, lists or emphasis in one another; deeper ones are text. */
const mostDepth = 12;

const entity = /&(?:#x[\da-f]{1,6}|#\d{1,7}|[a-z][\da-z]{1,31});/gi;
const decoder = document.createElement('textarea');

/** A text with its entities as characters. Nothing but an entity is read as HTML. */
const decoded = (text) =>
  text.replace(entity, (each) => {
    decoder.innerHTML = each;
    return decoder.value;
  });

/** The address of a link; undefined: not one that a reader should follow. */
function addressOf(text) {
  try {
    const { protocol, href } = new URL(decoded(text));
    return ['http:', 'https:', 'mailto:'].includes(protocol) ? href : undefined;
  } catch {
    return undefined; // relative: it would lead to this server
  }
}

function linkOf({ href }, ...children) {
  const address = addressOf(href);
  if (address === undefined) return element('span', { title: href }, ...children);
  const properties = { href: address, title: address, target: '_blank', rel: 'noopener noreferrer' };
  return element('a', properties, ...children);
}

const inlines = {
  strong: ({ tokens }, depth) => element('strong', {}, ...inline(tokens, depth + 1)),
  em: ({ tokens }, depth) => element('em', {}, ...inline(tokens, depth + 1)),
  del: ({ tokens }, depth) => element('del', {}, ...inline(tokens, depth + 1)),
  codespan: ({ text }) => element('code', { textContent: text }),
  br: () => element('br'),
  escape: ({ text }) => text,
  link: (token, depth) => linkOf(token, ...inline(token.tokens, depth + 1)),
  image: (token) => linkOf(token, `[${token.text || 'image'}]`),
  html: ({ text }) => (/^<br\s*\/?>$/i.test(text) ? element('br') : text),
  checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  text: ({ tokens, text }, depth) => (tokens ? element('span', {}, ...inline(tokens, depth)) : decoded(text)),
};

const inline = (tokens, depth = 0) =>
  tokens.map((token) => (depth < mostDepth && inlines[token.type]?.(token, depth)) || token.raw);

/** Blocks whose direction is that of their own text. */
const readable = (name, ...children) => element(name, { dir: 'auto' }, ...children);

const cells = (name, row) =>
  row.map(({ tokens, align }) => element(name, { className: align ?? '' }, ...inline(tokens)));

const tableOf = ({ header, rows }) =>
  wideBox(
    'Table',
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...cells('th', header))),
      element('tbody', {}, ...rows.map((row) => element('tr', {}, ...cells('td', row)))),
    ),
  );

function listOf({ ordered, start, items }, depth) {
  const list = element(ordered ? 'ol' : 'ul', {}, ...items.map((item) => itemOf(item, depth)));
  if (ordered && start !== 1) list.start = start;
  return list;
}

/** A task's box stands before its text. */
function itemOf({ tokens, task }, depth) {
  const parts = tokens.flatMap((token) =>
    token.type in inlines ? inline([token]) : blocks([token], depth + 1),
  );
  const item = readable('li', ...parts);
  item.classList.toggle('task', task);
  return item;
}

/** A block of code with its language and a button that copies it. */
export function codeBlock(text, language) {
  const code = element('code', { textContent: text });
  const head = element(
    'figcaption',
    {},
    element('span', { className: 'language', textContent: language }),
    copyButton(() => code.textContent, { ariaLabel: `Copy the code${language && ` (${language})`}` }),
  );
  return element('figure', { className: 'code' }, head, element('pre', { tabIndex: 0 }, code));
}

const languageOf = ({ lang = '' }) => decoded(lang).trim().split(/\s/)[0].slice(0, 30);

const builders = {
  heading: ({ depth, tokens }) => readable(`h${Math.min(6, depth + 1)}`, ...inline(tokens)),
  paragraph: ({ tokens }) => readable('p', ...inline(tokens)),
  blockquote: ({ tokens }, depth) => readable('blockquote', ...blocks(tokens, depth + 1)),
  list: listOf,
  code: (token) => codeBlock(token.text, languageOf(token)),
  table: tableOf,
  hr: () => element('hr'),
};

const isSilent = ({ type }) => type === 'space' || type === 'def';

/** Anything else, HTML too, is text. */
const plain = (text) => element('p', { className: 'plain', dir: 'auto', textContent: text });

const block = (token, depth) => {
  const build = depth < mostDepth ? builders[token.type] : undefined;
  return build ? build(token, depth) : plain(token.raw.trim());
};

const blocks = (tokens, depth) =>
  tokens.filter((token) => !isSilent(token)).map((token) => block(token, depth));

/** Line breaks stay, as in chats. */
const form = { gfm: true, breaks: true };

/** Longest time for one look at a text of `fewest` characters or more, in milliseconds. One that needs more is shown as it is. */
const [longest, fewest] = [1000, 5000];

/** Markdown that grows: blocks that have ended are not made again. */
export class Markdown {
  /** Characters of the blocks that have ended. */
  #ended = 0;
  /** The last block and its elements. */
  #open;
  #nodes = [];
  #text = '';
  #isPlain = false;

  /** @param place the element to fill */
  constructor(place) {
    this.place = place;
  }

  /** Shows the text: the earlier one, with more behind it, or another. */
  show(given) {
    const text = given.replace(/\r\n?/g, '\n');
    if (text === this.#text) return;
    if (!text.startsWith(this.#text)) this.#clear();
    this.#text = text;
    const begin = performance.now();
    try {
      if (!this.#isPlain) this.#grow(lexer(text.slice(this.#ended), form));
    } catch {
      this.#isPlain = true; // nested deeper than the stack
    }
    const isCostly = text.length - this.#ended > fewest && performance.now() - begin > longest;
    if (isCostly) this.#isPlain = true;
    if (this.#isPlain) this.#replace([plain(text.slice(this.#ended))]);
  }

  /** Shows the whole text anew where a link's address stands apart from it. */
  end() {
    if (!/^ {0,3}\[[^\]\n]+\]:/m.test(this.#text)) return;
    const text = this.#text;
    this.#clear();
    this.show(text);
  }

  #clear() {
    this.place.replaceChildren();
    this.#ended = 0;
    this.#nodes = [];
    this.#open = undefined;
    this.#text = '';
    this.#isPlain = false;
  }

  #grow(tokens) {
    const last = tokens.findLastIndex((token) => !isSilent(token));
    if (last === 0 && this.#extends(tokens[0])) return;
    for (const [index, token] of tokens.slice(0, Math.max(0, last)).entries()) {
      const isSame = index === 0 && token.raw === this.#open?.raw;
      if (!isSame) this.#replace(blocks([token], 0));
      this.#ended += token.raw.length;
      this.#nodes = [];
      this.#open = undefined;
    }
    if (last >= 0) this.#replace(blocks([tokens[last]], 0));
    this.#open = tokens[last];
  }

  /** More of a block of code is added to it. */
  #extends(token) {
    const open = this.#open;
    const isMore =
      token.type === 'code' &&
      open?.type === 'code' &&
      token.lang === open.lang &&
      token.text.startsWith(open.text);
    if (!isMore) return false;
    this.#nodes[0].querySelector('code').append(token.text.slice(open.text.length));
    this.#open = token;
    return true;
  }

  /** New elements in place of those of the last block. */
  #replace(nodes) {
    for (const node of this.#nodes) node.remove();
    this.place.append(...nodes);
    this.#nodes = nodes;
  }
}
