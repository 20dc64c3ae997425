// Search by operator, module, parameter, file:line, place (#12) or id: a text field with a list below it.

const MOST_FOUND = 60;

class Search {
  constructor(app) {
    this.app = app;
    this.input = byId("search");
    this.list = byId("found");
    this.at = -1;
    this.input.addEventListener("input", () => this.find());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.input.addEventListener("focus", () => this.input.value && this.find());
  }

  // What a node can be found by; places of lines are worked out once for each stack.
  index() {
    const { graph, book } = this.app;
    if (this.indexed === graph) return this.words;
    const sites = new Map();
    const site = (node) => {
      const stack = graph.stacks[node];
      if (!sites.has(stack)) {
        const found = graph.site(node);
        sites.set(stack, found ? book.place(found) : "");
      }
      return sites.get(stack);
    };
    this.words = Array.from({ length: graph.size }, (_, node) =>
      [graph.name(node), book.strings[graph.columns.op[node]], graph.module(node), graph.leaf(node), site(node)].join("\n").toLowerCase());
    this.indexed = graph;
    return this.words;
  }

  matches(text) {
    const { tree, backward, graph } = this.app;
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    if (/^#\d+$/.test(wanted)) return [backward.order[Number(wanted.slice(1))]].filter((node) => node !== undefined);
    if (/^\d+$/.test(wanted)) return Number(wanted) < graph.size ? [Number(wanted)] : [];
    const parts = wanted.split(/\s+/);
    const groups = tree.rows.map((_, group) => group).filter((group) => {
      const words = `${tree.groupName(group)}\n${tree.groupClass(group)}`.toLowerCase();
      return group && parts.every((part) => words.includes(part));
    });
    const words = this.index();
    const nodes = Array.from(tree.line).filter((node) => parts.every((part) => words[node].includes(part)));
    return [...groups.map((group) => tree.size + group), ...nodes];
  }

  find() {
    const { app } = this;
    const all = this.matches(this.input.value);
    this.at = -1;
    this.found = all.slice(0, MOST_FOUND);
    app.setFound(all);
    this.list.replaceChildren(...this.found.map((item, at) => this.option(item, at)));
    if (all.length > MOST_FOUND) this.list.append(make("li", { class: "quiet", role: "presentation" }, `${thousands(all.length - MOST_FOUND)} more`));
    if (!all.length && this.input.value.trim()) this.list.append(make("li", { class: "quiet", role: "presentation" }, "nothing found"));
    this.list.hidden = !this.input.value.trim();
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.input.removeAttribute("aria-activedescendant");
    app.say(this.input.value.trim() ? `${all.length} found` : "");
  }

  option(item, at) {
    const { tree, graph, backward } = this.app;
    const words = tree.isGroup(item)
      ? [make("b", {}, tree.groupName(item - tree.size)), ` ${tree.groupClass(item - tree.size)}`]
      : [make("span", { class: "place" }, backward.position[item] < 0 ? "–" : `#${backward.position[item]}`), ` ${graph.name(item)} `,
        make("span", { class: "quiet" }, [graph.leaf(item), graph.module(item)].filter(Boolean).join("  "))];
    return make("li", { role: "option", id: `found-${at}`, "aria-selected": "false", click: () => this.take(at) }, words);
  }

  key(event) {
    if (event.key === "Escape") {
      this.input.value = "";
      this.find();
      byId("graph").focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.mark(this.at + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") this.take(this.at < 0 ? 0 : this.at);
  }

  mark(at) {
    if (!this.found || !this.found.length) return;
    this.at = (at + this.found.length) % this.found.length;
    this.list.querySelectorAll("[role=option]").forEach((option, number) => option.setAttribute("aria-selected", String(number === this.at)));
    const option = byId(`found-${this.at}`);
    option.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", option.id);
  }

  take(at) {
    if (!this.found || this.found[at] === undefined) return;
    this.app.select(this.found[at]);
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }
}
