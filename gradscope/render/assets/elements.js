// Elements made of names and texts. What comes from a recording goes in as text, never as markup.

function make(name, about = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(about)) {
    if (key === "click" || key === "input" || key === "change" || key === "keydown") element.addEventListener(key, value);
    else if (key === "class") element.className = value ?? "";
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const button = (words, click, about = {}) => make("button", { type: "button", click, ...about }, words);
// What a button is called aloud: with the word on it, by which those who speak to their computer name it.
const spoken = (face, words) => (/^\w/.test(face) && !words.toLowerCase().includes(face.toLowerCase()) ? `${face}: ${words}` : words);
const heading = (words) => make("h3", {}, words);
const quiet = (words) => make("p", { class: "quiet" }, words);

function facts(rows) {
  return make("dl", {}, rows.filter(([, value]) => value !== "" && value !== null && value !== undefined).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function table(heads, rows, about = {}) {
  const cell = (value, column) => make("td", { class: heads[column].number ? "number" : null }, value ?? "–");
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": about.label || "table" }, make("table", {},
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col", class: head.number ? "number" : null }, head.name)))),
    make("tbody", {}, rows.map((row) => make("tr", row.about || {}, row.cells.map(cell))))));
}

// A long list in pieces, so that a tab opens at once.
function inPieces(rows, draw, size = 200) {
  const holder = make("div");
  let next = 0;
  const more = button("", () => piece(), { class: "more" });
  const piece = () => {
    holder.append(draw(rows.slice(next, next + size)));
    next += size;
    if (next < rows.length) more.textContent = `${Math.min(size, rows.length - next)} more of ${thousands(rows.length)}`;
    else more.remove();
  };
  piece();
  return make("div", {}, holder, next < rows.length ? more : null);
}

// Names may break after their dots.
const dotted = (text) => text.split(/(?<=\.)/).flatMap((part) => [make("wbr"), part]);

function nodeButton(app, node, words) {
  const { graph } = app;
  const text = words ?? [graph.name(node), graph.leaf(node)].filter(Boolean).join("  ");
  const place = app.backward.position[node];
  return button([make("span", { class: "place" }, place < 0 ? "–" : `#${place}`), " ", dotted(text)], () => app.select(node), { class: "link" });
}

// The line of a frame and those around it; just its place when the page does not hold the source.
function source(app, frame, around = 2) {
  const { book } = app;
  const lines = book.sources.get(frame.file);
  const place = make("span", { class: "file" }, book.place(frame), frame.function ? make("span", { class: "quiet" }, ` in ${frame.function}`) : null);
  if (!lines || lines[frame.line - 1] === undefined) return make("div", { class: "source" }, place);
  const first = Math.max(frame.line - 1 - around, 0);
  const shown = dedented(lines.slice(first, frame.line + around));
  return make("div", { class: "source" }, place, make("pre", {}, shown.map((line, at) => {
    const number = first + at + 1;
    const here = number === frame.line;
    return make("span", { class: here ? "line here" : "line" }, make("b", {}, `${here ? "▸" : " "}${String(number).padStart(4)} `), `${line || " "}\n`);
  })));
}

function dedented(lines) {
  const margins = lines.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length);
  const margin = Math.min(...margins, 1000);
  return lines.map((line) => line.slice(margin));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function save(name, text, type) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
