// Puts the page together: parts, keys, addresses, light and dark, print.

const KEYS = [
  [["←", "→"], "a step back, a step on"],
  [["Home", "End"], "first and last step, while the finding has the focus"],
  [["j", "k"], "next and previous finding; the arrows ↓ and ↑ too, while its head has the focus"],
  [["t"], "light, dark, or as the system is"],
  [["?"], "this help"],
];

const THEMES = ["auto", "light", "dark"];

function start() {
  const report = JSON.parse(document.getElementById("report").textContent);
  const findings = new Findings(report);
  const theme = themeButton();
  const parts = [
    ["findings", "Findings", report.stories.length ? findings.element() : nothingFound(report), findingsCount(report)],
    ["laws", "Laws", lawTable(report), report.laws.length],
    ["coverage", "Coverage", coverage(report), null],
    ["target", "Target", targetElement(report), null],
    ["environment", "Environment", environmentElement(report), null],
  ];
  if (report.known?.length) parts.splice(1, 0, ["known", "Known deviations", knownElement(report.known), report.known.length]);
  const links = parts.map(([id, title, , count]) => el("a", { href: `#${id}` }, title, count !== null && el("span", { class: "badge" }, count)));
  const help = el("button", { type: "button", class: "quiet", "aria-label": "Help: keys", title: "Help (?)", onclick: openHelp }, icon("question"));
  document.getElementById("bar").append(el("a", { class: "brand", href: "#main" }, "kvconform"), el("div", { class: "links" }, links), el("div", { class: "tools" }, theme, help));
  document.getElementById("main").append(
    verdictElement(report),
    ...parts.map(([id, title, content]) => el("section", { id, class: "part", "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), content)),
    el("footer", { class: "muted small" }, `Made by kvconform ${report.kvconform} from ${report.schema}. This file needs no network.`),
  );
  buildHelp();
  listen(findings, theme);
  if (!visit(findings) && findings.current) findings.open(findings.current);
  document.documentElement.dataset.ready = "true";
}

function findingsCount(report) {
  return report.stories.reduce((count, story) => count + story.findings.length, 0);
}

function nothingFound(report) {
  const held = report.laws.filter((law) => law.verdict === "holds");
  const checks = held.reduce((sum, law) => sum + law.checks, 0);
  const open = report.laws.filter((law) => law.verdict === "not-exercised").length;
  return el(
    "div",
    { class: `quiet-good${open ? " open" : ""}` },
    icon(open ? "question" : "check"),
    el("div", {}, el("p", { class: "lead" }, "Nothing was found."), el("p", { class: "muted" }, `${many(held.length, "law")} held in ${many(checks, "check")} over ${many(report.operations, "operation")}${open ? `; ${open} more were never exercised, which is not the same as holding` : ""}.`)),
  );
}

// -- keys and addresses -----------------------------------------------------------------------------------

function listen(findings, theme) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("help").open) return;
    if (event.target.closest("input, select, textarea")) return; // they have their own use of keys
    const act = action(event, findings, theme);
    if (!act) return;
    event.preventDefault();
    act();
  });
  window.addEventListener("hashchange", () => visit(findings));
  window.addEventListener("beforeprint", () => forPrint(findings));
  window.addEventListener("afterprint", () => findings.current && findings.open(findings.current));
}

function action(event, findings, theme) {
  const inside = findings.current?.element.contains(event.target);
  const onHead = event.target.closest(".card .head");
  switch (event.key) {
    case "ArrowRight": return () => findings.step(1);
    case "ArrowLeft": return () => findings.step(-1);
    case "Home": return inside && (() => findings.to(0));
    case "End": return inside && (() => findings.to(Infinity));
    case "j": return () => findings.move(1);
    case "k": return () => findings.move(-1);
    case "ArrowDown": return onHead && (() => findings.move(1));
    case "ArrowUp": return onHead && (() => findings.move(-1));
    case "t": return () => theme.click();
    case "?": return openHelp;
    default: return null;
  }
}

/** Go to what the address names; whether it names something that must be opened. */
function visit(findings) {
  const { hash } = location;
  if (findings.visit(hash)) return true;
  const law = hash.startsWith("#law-") && document.getElementById(hash.slice(1));
  if (!law) return false;
  law.hidden = false;
  law.open = true;
  law.scrollIntoView({ block: "center" });
  law.querySelector("summary").focus({ preventScroll: true });
  return false;
}

/** On paper every finding is open, at the step that breaks the law. */
function forPrint(findings) {
  for (const card of findings.cards) {
    card.open();
    card.show(card.story.breaks);
  }
}

function buildHelp() {
  const help = document.getElementById("help");
  const rows = KEYS.map(([keys, words]) => el("div", {}, el("dt", {}, keys.map((key) => el("kbd", {}, key))), el("dd", {}, words)));
  help.append(
    el("h2", { id: "help-title" }, "Keys"),
    el("dl", { class: "keys" }, rows),
    el("p", { class: "muted" }, "Point at a sequence, or go to it with Tab, to see its blocks; point at a block to see whose it is. The address names the finding and the step: pass it on."),
    el("form", { method: "dialog" }, el("button", { class: "filter" }, "Close")),
  );
}

function openHelp() {
  document.getElementById("help").showModal();
}

// -- light and dark ---------------------------------------------------------------------------------------

function themeButton() {
  const button = el("button", { type: "button", class: "quiet" });
  let at = Math.max(0, THEMES.indexOf(stored()));
  const apply = () => {
    document.documentElement.dataset.theme = THEMES[at];
    const words = `Colours: ${THEMES[at] === "auto" ? "as the system" : THEMES[at]}`;
    button.replaceChildren(icon(THEMES[at]));
    button.title = words;
    button.setAttribute("aria-label", words);
  };
  button.addEventListener("click", () => {
    at = (at + 1) % THEMES.length;
    store(THEMES[at]);
    apply();
  });
  apply();
  return button;
}

/** The theme that was chosen before, where the browser lets a file keep anything. */
function stored() {
  try {
    return localStorage.getItem("kvconform-theme");
  } catch {
    return null;
  }
}

function store(theme) {
  try {
    localStorage.setItem("kvconform-theme", theme);
  } catch {
    // It is not kept, then.
  }
}

start();
