"use strict";
// Draws the graph and answers clicks. Strings of the repository are only ever written with textContent.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const [text, back, faint] = dark ? ["#e6edf3", "#161b22", "#3d444d"] : ["#1f2328", "#f6f8fa", "#d1d9e0"];
  const named = (id) => document.getElementById(id);

  const element = (tag, content = "", className = "") => {
    const made = document.createElement(tag);
    made.textContent = content;
    made.className = className;
    return made;
  };

  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "bold 11px sans-serif";
  const widthOf = (label) => pen.measureText(label).width;

  const lines = Object.entries(data.states).map(([state, line]) => ({
    selector: `edge[state = "${state}"]`,
    style: {
      "line-color": line.color, "target-arrow-color": line.color, color: line.color,
      "line-style": line.pattern, width: line.width,
    },
  }));

  const cy = cytoscape({
    container: named("graph"),
    minZoom: 0.05,
    maxZoom: 3,
    elements: [
      ...data.nodes.map((node, i) => ({ data: { id: `n${i}`, ...node } })),
      ...data.edges.map((edge, i) => ({
        data: { ...edge, id: `e${i}`, source: `n${edge.source}`, target: `n${edge.dep}` },
      })),
    ],
    style: [
      { selector: "node", style: {
        label: "data(label)", shape: "round-rectangle", width: (node) => widthOf(node.data("label")), height: 22, padding: 6, color: text,
        "background-color": back, "border-width": 1, "border-color": faint, "font-size": 11,
        "text-valign": "center", "text-halign": "center", "font-family": "sans-serif" } },
      { selector: "node[distance = 0]", style: { "border-width": 3, "border-color": text, "font-weight": "bold" } },
      { selector: 'node[kind = ""]', style: { "border-style": "dashed" } },
      { selector: "edge", style: { "curve-style": "bezier", "target-arrow-shape": "triangle", "arrow-scale": 0.8 } },
      ...lines,
      { selector: ".away", style: { opacity: 0.12 } },
      { selector: ".off", style: { display: "none" } },
      { selector: "node.chosen", style: { "border-color": "#0969da", "border-width": 3 } },
      { selector: "edge.chosen", style: { width: 4 } },
    ],
    layout: { name: "dagre", rankDir: "LR", nodeSep: 10, rankSep: 70, animate: false },
  });

  const about = named("about");

  const show = (chosen) => {
    cy.elements().removeClass("away chosen");
    chosen.addClass("chosen");
    const near = chosen.isNode() ? chosen.closedNeighborhood() : chosen.union(chosen.connectedNodes());
    cy.elements().difference(near).addClass("away");
    about.replaceChildren(...(chosen.isNode() ? ofNode(chosen) : ofEdge(chosen)));
    location.replace(`#${encodeURIComponent(chosen.id())}`);
  };

  const clear = () => {
    cy.elements().removeClass("away chosen");
    about.replaceChildren(...welcome());
  };

  const go = (target) => {
    named("found").replaceChildren();
    show(target);
    cy.animate({ center: { eles: target }, duration: 150 });
  };

  const link = (target, content) => {
    const button = element("button", content);
    button.addEventListener("click", () => go(target));
    return button;
  };

  const list = (title, edges, end) => {
    if (edges.empty()) return [];
    const items = element("ul");
    for (const edge of edges.toArray().sort((a, b) => (end(a).data("label") < end(b).data("label") ? -1 : 1))) {
      const item = element("li");
      item.append(link(end(edge), end(edge).data("label")), " ");
      const state = link(edge, edge.data("state"));
      state.style.color = data.states[edge.data("state")].color;
      item.append(state);
      items.append(item);
    }
    return [element("h2", `${title} (${edges.length})`), items];
  };

  const ofNode = (node) => {
    const { label, kind, place, hidden_deps: hidden } = node.data();
    const parts = [
      element("h1", label),
      element("div", kind ? `${kind}, ${place}` : "not in the repository", "dim"),
      ...list("Deps", node.outgoers("edge"), (edge) => edge.target()),
      ...list("Dependents", node.incomers("edge"), (edge) => edge.source()),
    ];
    if (hidden) parts.push(element("p", `${hidden} more deps lie further away than was asked for`, "dim"));
    return parts;
  };

  const ofEdge = (edge) => {
    const { state, evidence, remark } = edge.data();
    const ends = element("ul");
    for (const end of [edge.source(), edge.target()]) {
      const item = element("li", end.same(edge.source()) ? "" : "→ ");
      item.append(link(end, end.data("label")));
      ends.append(item);
    }
    const parts = [element("h1", state), element("div", data.states[state].meaning, "dim"), ends];
    if (remark) parts.push(element("p", remark));
    if (evidence.length) {
      const items = element("ul");
      for (const line of evidence) {
        const item = element("li");
        item.append(element("code", line));
        items.append(item);
      }
      parts.push(element("h2", "Evidence"), items);
    }
    return parts;
  };

  const welcome = () => {
    const parts = [element("p", `${data.nodes.length} targets, ${data.edges.length} edges. ` +
      "Click a target or an edge; click beside them to see all again.", "dim")];
    if (data.not_analysed.length)
      parts.push(element("p", `could not be wholly analysed: ${data.not_analysed.join(", ")}`));
    return parts;
  };

  for (const [state, line] of Object.entries(data.states)) {
    const edges = cy.edges(`[state = "${state}"]`);
    const row = element("label");
    const box = element("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => edges.toggleClass("off", !box.checked));
    const sample = element("i");
    sample.style.borderTop = `${line.width}px ${line.pattern} ${line.color}`;
    row.title = line.meaning;
    row.append(box, sample, `${state} `, element("small", `${edges.length}`));
    named("legend").append(row);
  }

  const search = named("search");
  const found = named("found");
  const matches = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const fits = ({ label, place }) => words.every((word) => `${label} ${place}`.toLowerCase().includes(word));
    return cy.nodes().toArray().filter((node) => fits(node.data()));
  };
  search.addEventListener("input", () => {
    const nodes = matches();
    found.replaceChildren(...nodes.slice(0, 100).map((node) => {
      const item = element("li");
      item.append(link(node, node.data("label")));
      return item;
    }));
    cy.nodes().removeClass("away");
    if (search.value.trim()) cy.nodes().filter((node) => !nodes.includes(node)).addClass("away");
  });
  search.addEventListener("keydown", (event) => {
    const [first] = matches();
    if (event.key === "Enter" && first) go(first);
    if (event.key === "Escape") { search.value = ""; found.replaceChildren(); clear(); }
  });

  cy.on("tap", (event) => (event.target === cy ? clear() : show(event.target)));
  clear();
  const asked = cy.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (asked.nonempty()) show(asked);
  window.buildfixGraph = cy; // for the browser's console, and for tests
})();
