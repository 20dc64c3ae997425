// The graph as a tree of words: what the picture shows, for the keyboard and for screen readers.

function outline(app) {
  const tree = make("ul", { role: "tree", "aria-label": "modules and nodes in backward order", class: "tree" });
  tree.append(...branches(app, 0, 1));
  const first = tree.querySelector("[role=treeitem]");
  if (first) first.tabIndex = 0;
  const item = app.followed ?? app.selected;
  if (item !== null) markInOutline(app, tree, item);
  tree.addEventListener("keydown", (event) => walkTree(app, tree, event));
  return [quiet("Arrow keys walk; Enter shows a box in the picture."), tree];
}

function branches(app, group, level, from = 0, most = 200) {
  const { tree } = app;
  const items = tree.children[group];
  const found = items.slice(from, from + most).map((item) => branch(app, item, level));
  if (from + most < items.length) {
    const more = make("li", { role: "treeitem", tabindex: -1, "aria-level": level, class: "more" }, `${items.length - from - most} more`);
    more.addEventListener("click", (event) => {
      event.stopPropagation();
      const rest = branches(app, group, level, from + most, most);
      more.replaceWith(...rest);
      focusItem(rest[0]);
    });
    found.push(more);
  }
  return found;
}

function branch(app, item, level) {
  const { tree, graph, backward } = app;
  const isGroup = tree.isGroup(item);
  const group = item - tree.size;
  const words = isGroup
    ? [make("b", {}, tree.groupName(group)), " ", make("span", { class: "quiet" }, app.describe(item).lines.map((line) => line.text).join(" · "))]
    : [make("span", { class: "place" }, backward.position[item] < 0 ? "not run" : `#${backward.position[item]}`), ` ${graph.name(item)} `, make("span", { class: "quiet" }, [graph.leaf(item), graph.inputs(item)[0]].filter(Boolean).join("  "))];
  const element = make("li", { role: "treeitem", tabindex: -1, "aria-level": level, "aria-selected": String(app.selected === item), "aria-expanded": isGroup ? "false" : null }, make("span", { class: "label" }, words));
  element.item = item;
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    if (isGroup) unfold(app, element, element.getAttribute("aria-expanded") === "false");
    app.select(item, { tab: false });
    focusItem(element);
  });
  return element;
}

// Opens the way to an item and marks it; one that stands behind "more" is left there.
function markInOutline(app, tree, item) {
  const path = [item];
  for (let group = app.tree.around(item); group; group = app.tree.around(app.tree.size + group)) path.unshift(app.tree.size + group);
  let [holder, found] = [tree, null];
  for (const one of path) {
    found = [...(holder ? holder.children : [])].find((child) => child.item === one);
    if (!found) return;
    if (one !== item) unfold(app, found, true);
    holder = found.querySelector(":scope > ul");
  }
  for (const one of tree.querySelectorAll("[aria-selected=true]")) one.setAttribute("aria-selected", "false");
  found.setAttribute("aria-selected", "true");
  found.scrollIntoView({ block: "nearest" });
}

function unfold(app, element, open) {
  if (!element.hasAttribute("aria-expanded")) return;
  element.setAttribute("aria-expanded", String(open));
  let inner = element.querySelector(":scope > ul");
  if (open && !inner) {
    inner = make("ul", { role: "group" }, branches(app, element.item - app.tree.size, Number(element.getAttribute("aria-level")) + 1));
    element.append(inner);
  }
  if (inner) inner.hidden = !open;
}

function focusItem(element) {
  element.closest("[role=tree]").querySelectorAll("[tabindex='0']").forEach((one) => (one.tabIndex = -1));
  element.tabIndex = 0;
  element.focus();
}

function walkTree(app, tree, event) {
  const here = event.target.closest("[role=treeitem]");
  if (!here) return;
  const all = [...tree.querySelectorAll("[role=treeitem]")].filter((one) => !one.closest("[hidden]"));
  const at = all.indexOf(here);
  const open = here.getAttribute("aria-expanded");
  const moves = {
    ArrowDown: () => all[at + 1],
    ArrowUp: () => all[at - 1],
    Home: () => all[0],
    End: () => all.at(-1),
    ArrowRight: () => (open === "false" ? unfold(app, here, true) : open === "true" ? all[at + 1] : null),
    ArrowLeft: () => (open === "true" ? unfold(app, here, false) : here.parentElement.closest("[role=treeitem]")),
    Enter: () => here.click(),
    " ": () => here.click(),
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  const next = moves[event.key]();
  if (next) focusItem(next);
}
