"use strict";
// Making elements. Text goes in as text, never as markup: nothing that an engine said can become part of the page.

const SVG = document.getElementById("icons").namespaceURI;

/** An element. attributes: on… is a listener, false or null is left out; children: elements, texts, or lists of them. */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of a drawing. */
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** One of the page's icons; words beside it say the same. */
function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#i-${name}` }));
}

/** A count with its word: 1 block, 2 blocks. */
function many(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

/** A list in words: a, b and c. */
function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** A text that breaks at its dots where it must: the id of a law. */
function breaking(text) {
  return text.split(".").flatMap((piece, at) => (at ? [".", el("wbr"), piece] : [piece]));
}

/** A text with a button that copies it. */
function copyable(text, what) {
  const said = el("span", { class: "said", role: "status" });
  const button = el("button", { type: "button", class: "quiet", "aria-label": `Copy ${what}`, title: `Copy ${what}` }, icon("copy"));
  const code = el("code", {}, text);
  button.addEventListener("click", async () => {
    said.textContent = (await copied(text)) ? "copied" : "select and copy it by hand";
    if (said.textContent !== "copied") getSelection().selectAllChildren(code);
    setTimeout(() => (said.textContent = ""), 2500);
  });
  return el("div", { class: "copyable" }, code, said, button);
}

/** Put a text on the clipboard; whether that worked. A page from disk may lack the first way, so there is a second. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = el("textarea", { class: "away", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    try {
      return document.execCommand("copy");
    } finally {
      field.remove();
    }
  }
}
