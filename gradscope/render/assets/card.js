// What stands beside the pointer when it rests: a box's or an arrow's shapes, norm and line.

class Card {
  constructor(app, holder) {
    this.app = app;
    this.element = make("div", { id: "card", role: "tooltip", hidden: true });
    holder.append(this.element);
  }

  over(box, edge, x, y) {
    this.tell(edge ? this.edge(edge) : box && !box.open ? this.box(box.item) : null, x, y);
  }

  tell(lines, x, y) {
    this.element.hidden = !lines;
    if (!lines) return;
    const [first, ...others] = lines;
    this.element.replaceChildren(make("b", {}, first), ...others.filter(Boolean).map((line) => make("div", {}, line)));
    const { clientWidth, clientHeight } = this.element.parentElement;
    this.element.style.left = `${Math.max(4, Math.min(x + 14, clientWidth - this.element.offsetWidth - 6))}px`;
    this.element.style.top = `${Math.max(4, Math.min(y + 14, clientHeight - this.element.offsetHeight - 6))}px`;
  }

  box(item) {
    const { app } = this;
    const words = app.describe(item);
    const value = app.measure && app.measure.value(item);
    const said = app.measure && !Number.isNaN(value) ? `${app.measure.words}: ${app.measure.say(value)}` : "";
    if (app.tree.isGroup(item)) return [words.title, ...words.lines.map((line) => line.text), said];
    const [site, took, norm] = [app.graph.site(item), app.backward.seconds(item), normOf(app, item)];
    return [app.graph.name(item), app.graph.leaf(item), app.graph.inputs(item).filter(Boolean).join("; "),
      norm === null ? "" : `gradient in: norm ${Number(norm.toPrecision(4))}`, took === null ? "" : `took ${duration(took)}`,
      site ? `${app.book.place(site)}${app.book.line(site) ? `   ${app.book.line(site).trim()}` : ""}` : "", app.graph.module(item)];
  }

  edge(edge) {
    const { app } = this;
    const title = (item) => app.describe(item).title;
    const ends = app.edgesOf(edge);
    const norm = ends.length === 1 ? edgeNorm(app, ends[0]) : null;
    const type = ends.length === 1 ? app.graph.inputs(app.graph.target[ends[0]])[app.graph.columns.input[ends[0]]] : "";
    return [`${title(edge.tail)} → ${title(edge.head)}`, ends.length > 1 ? `${ends.length} edges` : type, norm === null ? "" : `norm ${Number(norm.toPrecision(4))}`, "click: to the other end"];
  }
}
