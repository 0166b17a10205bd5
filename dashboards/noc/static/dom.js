// What is shown already stays the same node, so that the keyboard's focus and a selected text survive.
export const byId = (id) => document.getElementById(id);

export function element(tag, text = "", className = "") {
  const node = document.createElement(tag);
  node.textContent = text;
  node.className = className;
  return node;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** One child a line; line: a text, or a list of [tag, text, class]. Children whose line is the same are not touched. */
export function setLines(parent, lines) {
  lines.forEach((line, at) => {
    const key = JSON.stringify(line);
    const known = parent.children[at];
    if (known?.dataset.line === key) return;
    const item = element("li");
    item.dataset.line = key;
    item.append(...(typeof line === "string" ? [line] : line.map((part) => element(...part))));
    if (known) known.replaceWith(item);
    else parent.append(item);
  });
  while (parent.children.length > lines.length) parent.lastElementChild.remove();
}
