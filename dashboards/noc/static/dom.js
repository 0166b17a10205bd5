// What is shown already stays the same node, so that the keyboard's focus and a selected text survive.
export const byId = (id) => document.getElementById(id);

/** A number is not parted from its sign. */
const tied = (text) => text.replace(/(\d) %/g, "$1\u00a0%");

export function element(tag, text = "", className = "", attributes = {}) {
  const node = document.createElement(tag);
  node.textContent = tied(text);
  node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

export function drawn(tag, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

export function setText(node, text) {
  const said = tied(text);
  if (node.textContent !== said) node.textContent = said;
}

/** One child a line; line: a text, or a list of [tag, text, class, attributes]. Lines that are the same are not touched. */
export function setLines(parent, lines) {
  lines.forEach((line, at) => {
    const key = JSON.stringify(line);
    const known = parent.children[at];
    if (known?.dataset.line === key) return;
    const item = element("li");
    item.dataset.line = key;
    item.append(...(typeof line === "string" ? [tied(line)] : line.map((part) => element(...part))));
    if (known) known.replaceWith(item);
    else parent.append(item);
  });
  while (parent.children.length > lines.length) parent.lastElementChild.remove();
}
