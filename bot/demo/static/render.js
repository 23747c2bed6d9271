// Text with entities as DOM. Nothing here ever reads markup: every text ends up in a text node.

const TAGS = {
  bold: "strong", italic: "em", underline: "u", strikethrough: "s", spoiler: "span",
  code: "code", blockquote: "blockquote", expandable_blockquote: "blockquote",
};
const SAFE = /^(?:https?:\/\/|mailto:)/i;

/** Make an element; `attributes` are set as attributes, children are nodes or texts. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Fill the places of a text: fill("Step {number}", {number: 1}). */
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Give a text with its entities (offsets in UTF-16 units, as in JavaScript); `texts` are the page's words. */
export function richText(text, entities, texts) {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  const fragment = document.createDocumentFragment();
  build(fragment, text, sorted, 0, text.length, texts);
  return fragment;
}

/** Put text[start, end) with the entities that begin in it into a parent; one that overlaps its parent is cut. */
function build(parent, text, entities, start, end, texts) {
  let at = start;
  while (entities.length && entities[0].offset < end) {
    const entity = entities.shift();
    const from = Math.max(entity.offset, at);
    const to = Math.min(entity.offset + entity.length, end);
    if (from >= to) continue;
    const node = element(entity, text.slice(from, to), texts);
    // The lines around a block are its own space already.
    if (from > at) parent.append(node.isBlock ? text.slice(at, from).replace(/\n{1,2}$/, "") : text.slice(at, from));
    build(node.inner, text, entities, from, to, texts);
    parent.append(node.outer);
    at = to;
    for (let lines = 0; node.isBlock && lines < 2 && at < end && text[at] === "\n"; lines += 1) at += 1;
  }
  if (at < end) parent.append(text.slice(at, end));
}

function element(entity, words, texts) {
  switch (entity.type) {
    case "pre": {
      const inner = el("code");
      const outer = el("pre", { tabindex: "0", "data-language": entity.language }, inner);
      return { outer, inner, isBlock: true };
    }
    case "text_link":
      return link(entity.url, texts);
    case "url":
      return link(SAFE.test(words) ? words : `https://${words}`, texts);
    case "bot_command":
      return same(el("button", { type: "button", class: "command", "data-command": words }));
    default: {
      const node = el(TAGS[entity.type] ?? "span", { class: entity.type });
      return { outer: node, inner: node, isBlock: node.tagName === "BLOCKQUOTE" };
    }
  }
}

/** Give a link to the web; anything else (javascript:, files) stays text. */
function link(address, texts) {
  if (!SAFE.test(address)) return same(el("span"));
  const title = fill(texts.opens, { url: address });
  return same(el("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", title }));
}

function same(node) {
  return { outer: node, inner: node, isBlock: false };
}
