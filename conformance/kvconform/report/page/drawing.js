// The pools and block tables of one moment, as elements. Knows stories; keeps nothing between two drawings.

const SIZES = [
  [12, "huge"],
  [32, "large"],
  [96, "medium"],
  [Infinity, "small"],
];
const NAMED = { huge: 4, large: 3, medium: 1, small: 0 }; // owners of a block whose names its tile has room for
const MOST_BANDS = 6;
const MOST_CELLS = 16; // slots of a block that are drawn one by one; of more, a bar
const MOST_ARROWS = 24; // beyond, the list in words has them all
const MOST_CHANGES = 10; // told at once, or two more; the rest can be opened

/** The picture of a step: pools, arrows, what changed, block tables. */
function drawing(story, step) {
  const shown = story.at(step);
  if (!shown) return el("p", { class: "muted" }, nothingDrawn(story));
  const { frame, before, own } = shown;
  const slots = story.config.block_size ?? 1;
  const changed = own ? differences(before, frame, slots) : { blocks: new Set(), sequences: new Set(), words: [] };
  const largest = Math.max(...Object.values(frame.pools).map((pool) => pool.blocks.length));
  const size = SIZES.find(([most]) => largest <= most)[1];
  const context = { size, story, frame, slots, changed, ends: own ? transfers(frame) : [], final: step >= story.breaks };
  const pools = el("div", { class: "pools" }, Object.entries(frame.pools).map(([device, pool]) => poolElement(context, device, pool)));
  const element = el("div", { class: "drawing" }, pools, changesElement(context, step, own), tablesElement(context));
  linkHighlights(element);
  if (context.ends.length) {
    pools.append(svg("svg", { class: "arrows", "aria-hidden": "true" }));
    const draw = () => drawArrows(pools, context.ends);
    new ResizeObserver(draw).observe(pools);
  }
  return element;
}

function nothingDrawn(story) {
  if (story.undrawn) return "This drawing is left out: the page would be too large. The steps in words are complete; replay the trace to see it.";
  return "The report has no pictures of this run; the steps in words are complete.";
}

/** What was copied and moved: [device, block, device, block, word]. */
function transfers(frame) {
  const copies = frame.copies.map(([source, target]) => ["gpu", source, "gpu", target, "copy"]);
  return [...copies, ...frame.moves.map((move) => [...move, "move"])];
}

// -- pools ------------------------------------------------------------------------------------------------

function poolElement(context, device, pool) {
  const name = device.toUpperCase();
  const counted = pool.free === null ? "free count not answered" : `${pool.free.toLocaleString("en")} of ${pool.total.toLocaleString("en")} free`;
  const heading = el("h4", {}, name, el("span", { class: "muted" }, pool.total ? counted : "no blocks"));
  if (!pool.total && !pool.blocks.length) return el("section", { class: "pool empty", "aria-label": `${name} pool` }, heading);
  const { size } = context;
  const tiles = pool.blocks.map((block) => tile(context, device, block));
  const hidden = pool.total - pool.blocks.length;
  return el(
    "section",
    { class: "pool", "aria-label": `${name} pool, ${counted}` },
    heading,
    tiles.length > 0 && foldable(pool, size, el("div", { class: `tiles ${size}`, role: "list" }, tiles)),
    hidden > 0 && el("p", { class: "muted small" }, `${many(hidden, "free block")} not drawn`),
  );
}

/** A large pool with nothing in it need not be looked at. */
function foldable(pool, size, tiles) {
  if (size === "huge" || size === "large" || pool.blocks.some((block) => block.state !== "free")) return tiles;
  return el("details", { class: "plain" }, el("summary", { class: "small" }, `all ${many(pool.blocks.length, "block")} free`), tiles);
}

function tile(context, device, block) {
  const { size, story, slots, changed } = context;
  const key = `${device} ${block.block}`;
  const marked = story.marked.has(key);
  const lookahead = block.state === "held" && !block.covered;
  const classes = ["tile", block.state, lookahead && "lookahead", block.listed && "listed", changed.blocks.has(key) && "changed"];
  if (marked) classes.push(context.final ? "marked" : "to-be-marked");
  const roomy = size === "huge" || size === "large";
  const label = tileLabel(block, size, roomy);
  const words = `${device.toUpperCase()} block ${block.block}: ${blockWords(block, slots)}${marked && context.final ? ". Not as it should be." : ""}`;
  return el(
    "div",
    { class: classes.filter(Boolean).join(" "), role: "listitem", "aria-label": words, title: words, "data-block": key, "data-owners": block.owners.join(" ") },
    el("div", { class: "bands", "aria-hidden": "true" }, bands(story, block, size)),
    el("span", { class: "number", "aria-hidden": "true" }, block.block),
    size !== "small" && block.refcount > 1 && el("span", { class: "count", "aria-hidden": "true" }, `×${block.refcount}`),
    size !== "small" && label && el("span", { class: "label", "aria-hidden": "true" }, label),
    roomy && block.state === "held" && slotCells(block, slots),
    roomy && block.listed && el("span", { class: "both", "aria-hidden": "true" }, "free too"),
    marked && context.final && size !== "small" && el("span", { class: "flag" }, icon("alert")),
  );
}

/** A held block in its owners' colours, each with the owner's name where there is room. */
function bands(story, block, size) {
  if (block.state !== "held") return null;
  const named = block.owners.length <= NAMED[size];
  return block.owners.slice(0, MOST_BANDS).map((owner) => el("i", { "--owner": story.colour(owner) }, named && `s${owner}`));
}

function tileLabel(block, size, roomy) {
  if (block.state === "held") return block.owners.length > NAMED[size] && (roomy ? `${block.owners.length} owners` : block.owners.length);
  if (block.state === "null") return "∅";
  if (block.state === "missing") return roomy ? "missing" : "?";
  if (block.state === "cached") return roomy ? "cached" : "c";
  return null;
}

/** A block's slots: with KV, with a token that has none yet, empty. */
function slotCells(block, slots) {
  if (slots > MOST_CELLS) {
    const share = (count) => `${(100 * count) / slots}%`;
    return el("div", { class: "slots bar", "--covered": share(block.covered), "--written": share(block.written), "aria-hidden": "true" });
  }
  const cells = Array.from({ length: slots }, (_, at) => el("i", { class: at < block.written ? "written" : at < block.covered ? "covered" : "empty" }));
  return el("div", { class: "slots", "aria-hidden": "true" }, cells);
}

// -- arrows -----------------------------------------------------------------------------------------------

function drawArrows(pools, ends) {
  const layer = pools.querySelector(".arrows");
  if (!layer || !pools.isConnected) return;
  const origin = pools.getBoundingClientRect();
  layer.setAttribute("viewBox", `0 0 ${origin.width} ${origin.height}`);
  layer.replaceChildren();
  for (const [from, source, to, target] of ends.slice(0, MOST_ARROWS)) {
    const [a, b] = [`${from} ${source}`, `${to} ${target}`].map((key) => pools.querySelector(`[data-block="${key}"]`));
    if (a && b && a !== b) layer.append(...arrow(a.getBoundingClientRect(), b.getBoundingClientRect(), origin));
  }
}

/** A bent line from one tile's upper edge to the other's, with a head. */
function arrow(a, b, origin) {
  const middle = (box) => ({ x: box.left + box.width / 2 - origin.left, y: box.top - 1 - origin.top });
  const [start, end] = [middle(a), middle(b)];
  const lift = Math.min(44, 22 + Math.abs(end.x - start.x) / 10);
  const over = { x: (start.x + end.x) / 2, y: Math.min(start.y, end.y) - lift };
  const angle = Math.atan2(end.y - over.y, end.x - over.x);
  const corner = (turn) => `${end.x - 9 * Math.cos(angle + turn)} ${end.y - 9 * Math.sin(angle + turn)}`;
  const line = `M${start.x} ${start.y} Q${over.x} ${over.y} ${end.x} ${end.y}`;
  const head = `M${corner(0.45)} L${end.x} ${end.y} L${corner(-0.45)}`;
  return [svg("path", { class: "halo", d: `${line} ${head}` }), svg("path", { d: `${line} ${head}` }), svg("circle", { cx: start.x, cy: start.y, r: 3 })];
}

// -- in words ---------------------------------------------------------------------------------------------

function changesElement(context, step, own) {
  if (!step) return null;
  if (!own) return el("p", { class: "changes muted" }, "No picture of its own: this is what the step before left.");
  const moved = context.ends.map(([from, source, to, target, word]) => {
    return el("li", { class: "transfer" }, `${word} ${from.toUpperCase()} block ${source} → ${to.toUpperCase()} block ${target}`);
  });
  const told = [...moved, ...context.changed.words.map((words) => el("li", {}, words))];
  if (!told.length) return el("p", { class: "changes muted" }, "Nothing changed in the pools or block tables.");
  const cut = told.length > MOST_CHANGES + 2 ? MOST_CHANGES : told.length;
  const [first, rest] = [told.slice(0, cut), told.slice(cut)];
  return el(
    "div",
    { class: "changes" },
    el("h4", {}, "What changed"),
    el("ul", {}, first),
    rest.length > 0 && el("details", {}, el("summary", {}, `${rest.length} more`), el("ul", {}, rest)),
  );
}

/** The block tables of all live sequences. */
function tablesElement(context) {
  const { frame } = context;
  if (!frame.sequences.length) return el("p", { class: "tables muted" }, "No sequence has a block table.");
  return el("div", { class: "tables" }, el("h4", {}, "Block tables"), frame.sequences.map((sequence) => tableRow(context, sequence)));
}

function tableRow({ story, changed }, sequence) {
  const { id, group, status, tokens, covered, computed, device, rows } = sequence;
  const lanes = rows.map((row, lane) => {
    const cells = row.map((block) => tableCell(story, device, block));
    return el("div", { class: "lane" }, rows.length > 1 && el("span", { class: "muted small" }, `layers ${lane}`), cells.length ? cells : el("span", { class: "muted small" }, "empty"));
  });
  return el(
    "div",
    { class: `sequence${changed.sequences.has(id) ? " changed" : ""}`, tabindex: "0", role: "group", "data-sequence": id, "aria-label": `sequence ${id}, ${status}, block table ${rowWords(sequence)}` },
    el("span", { class: "owner", "--owner": story.colour(id) }, `s${id}`),
    el("div", { class: "about" }, el("b", {}, `sequence ${id}`), el("span", { class: "muted" }, ` group ${group}, ${status}, ${device.toUpperCase()}`), el("div", { class: "muted small" }, `${many(tokens, "token")}, ${covered} covered, ${computed} computed`)),
    el("div", { class: "lanes" }, lanes),
  );
}

function tableCell(story, device, block) {
  if (block === null) return el("span", { class: "cell none", title: "no block: the null block" }, "∅");
  const key = `${device} ${block}`;
  return el("span", { class: `cell${story.marked.has(key) ? " suspect" : ""}`, "data-names": key }, block);
}

/** Pointing at a sequence, or going to it, shows its blocks; pointing at a block shows whose it is. */
function linkHighlights(element) {
  const light = (owners) => {
    element.classList.toggle("lit", owners.length > 0);
    for (const tileElement of element.querySelectorAll("[data-owners]")) {
      tileElement.classList.toggle("on", tileElement.dataset.owners.split(" ").some((owner) => owners.includes(owner)));
    }
    for (const row of element.querySelectorAll("[data-sequence]")) row.classList.toggle("on", owners.includes(row.dataset.sequence));
  };
  const owners = (target) => {
    const found = target.closest?.("[data-sequence], [data-owners]");
    if (!found) return [];
    return found.dataset.sequence ? [found.dataset.sequence] : found.dataset.owners.split(" ").filter(Boolean);
  };
  for (const kind of ["pointerover", "focusin"]) element.addEventListener(kind, (event) => light(owners(event.target)));
  for (const kind of ["pointerleave", "focusout"]) element.addEventListener(kind, () => light([]));
}

// -- the legend -------------------------------------------------------------------------------------------

const LEGEND = [
  ["held", "one owner: its colour", (block) => block.owners.length === 1],
  ["shared", "shared: split by owners", (block) => block.owners.length > 1],
  ["lookahead", "lookahead slots only", (block) => block.state === "held" && !block.covered],
  ["cached", "cached", (block) => block.state === "cached"],
  ["free", "free", (block) => block.state === "free"],
  ["null", "null block", (block) => block.state === "null"],
  ["missing", "missing", (block) => block.state === "missing"],
  ["listed", "held, and in the free set", (block) => block.listed],
];

/** What the signs in a story's drawings mean; those that occur. */
function legend(story) {
  const blocks = story.frames.flatMap((frame) => Object.values(frame.pools).flatMap((pool) => pool.blocks));
  const told = LEGEND.filter(([, , occurs]) => blocks.some(occurs)).map(([name, words]) => [legendTile(name), words]);
  if (blocks.some((block) => block.covered > 0)) {
    told.push([el("i", { class: "sample written" }), "slot with KV"], [el("i", { class: "sample covered" }), "token, no KV yet"]);
  }
  told.push([el("i", { class: "sample change" }), "changed in this step"]);
  if (story.marked.size) told.push([el("i", { class: "sample mark" }), "not as it should be"]);
  return el("ul", { class: "legend small", "aria-label": "Legend" }, told.map(([sign, words]) => el("li", {}, sign, words)));
}

function legendTile(name) {
  const state = { shared: "held", lookahead: "held lookahead", listed: "held listed" }[name] ?? name;
  const owners = { held: 1, shared: 2, lookahead: 1, listed: 1 }[name] ?? 0;
  const colours = Array.from({ length: owners }, (_, at) => el("i", { "--owner": `var(--owner-${at})` }));
  return el("span", { class: `tile sample ${state}`, "aria-hidden": "true" }, el("div", { class: "bands" }, colours));
}
