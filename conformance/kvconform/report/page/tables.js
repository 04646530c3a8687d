// All of the report that is not a finding: the verdict, the laws, what was reached, the target, the environment.

const VERDICTS = {
  conforms: ["check", "Conforms", "Every applicable MUST law was exercised, and holds."],
  violates: ["cross", "Violates", ""],
  inconclusive: ["question", "Inconclusive", "No binding law was seen broken, and not everything that applies could be judged: see below."],
  error: ["alert", "Error", "The target could not be driven."],
};

const LAW_VERDICTS = {
  violated: ["cross", "violated"],
  known: ["bookmark", "known deviation"],
  "not-exercised": ["question", "not exercised"],
  holds: ["check", "holds"],
  "not-applicable": ["minus", "not applicable"],
};

const LEVELS = ["MUST", "SHOULD", "MAY"];

// -- the verdict ------------------------------------------------------------------------------------------

function verdictElement(report) {
  const [sign, word, words] = VERDICTS[report.verdict] ?? ["question", report.verdict, ""];
  return el(
    "header",
    { class: `verdict ${report.verdict}` },
    el(
      "div",
      { class: "headline" },
      el("p", { class: "over" }, "KV-cache block manager, conformance report"),
      el("h1", {}, report.target.name, report.target.version && el("span", { class: "version" }, report.target.version)),
      el("p", { class: "said" }, el("span", { class: "sign" }, icon(sign)), el("strong", {}, word)),
      el("p", { class: "why" }, report.verdict === "violates" ? brokenWords(report) : words),
      report.verdict === "conforms" && besides(report),
      report.notes.length > 0 && el("ul", { class: "notes", "aria-label": "Notes" }, report.notes.map((note) => el("li", {}, note))),
      el("dl", { class: "run" }, runFacts(report).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    ),
    lawMap(report),
  );
}

function brokenWords(report) {
  const broken = report.laws.filter((law) => law.verdict === "violated");
  const told = LEVELS.map((level) => [broken.filter((law) => law.level === level).length, level]).filter(([count]) => count);
  const parts = listed(told.map(([count, level]) => `${count} ${level}`));
  return `${broken.length} of ${many(report.laws.length, "law")} ${broken.length === 1 ? "is" : "are"} violated: ${parts}.`;
}

/** What a run that conforms has found all the same. */
function besides(report) {
  const count = report.laws.filter((law) => law.verdict === "violated" || law.verdict === "known").length;
  if (!count) return null;
  const [which, are] = count === 1 ? ["law that does not bind this run, or is a known deviation,", "is"] : ["laws that do not bind this run, or are known deviations,", "are"];
  return el("p", { class: "why muted" }, `${count} ${which} ${are} broken: see the findings.`);
}

function runFacts(report) {
  const seconds = report.duration_s;
  return [
    ["Operations", report.operations.toLocaleString("en")],
    ["Duration", seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`],
    ["Profile", report.strict ? `${report.profile}, strict` : report.profile],
    ["Seed", report.seed],
    ...(report.started ? [["Started", report.started.slice(0, 16).replace("T", " ") + " UTC"]] : []),
    ["Catalogue", `${report.catalogue}, ${many(report.laws.length, "law")}`],
    ["kvconform", report.kvconform],
  ];
}

/** Every law as a tile, by area: what held at a glance. */
function lawMap(report) {
  const groups = areas(report.laws).map(([area, laws]) => {
    const tiles = laws.map((law) => {
      const words = `${law.id} (${law.level}): ${LAW_VERDICTS[law.verdict]?.[1] ?? law.verdict}`;
      return el("a", { href: `#law-${law.id}`, class: `law-tile ${law.verdict}`, title: words, "aria-label": words }, icon(LAW_VERDICTS[law.verdict]?.[0] ?? "question"));
    });
    return el("div", { class: "area" }, el("span", { class: "name" }, area), el("span", { class: "row" }, tiles));
  });
  const counted = Object.entries(LAW_VERDICTS).map(([verdict, [, word]]) => [verdict, word, report.laws.filter((law) => law.verdict === verdict).length]);
  const key = counted.filter(([, , count]) => count).map(([verdict, word, count]) => el("li", {}, el("span", { class: `law-tile ${verdict}` }, icon(LAW_VERDICTS[verdict][0])), `${count} ${count > 1 && word === "holds" ? "hold" : word}`));
  return el("section", { class: "map", "aria-label": "The laws at a glance" }, el("div", { class: "areas" }, groups), el("ul", { class: "key" }, key));
}

/** The laws by the first part of their ids, in the order of the document. */
function areas(laws) {
  const found = new Map();
  for (const law of laws) {
    const area = law.id.split(".")[0];
    found.set(area, [...(found.get(area) ?? []), law]);
  }
  return [...found];
}

// -- the law table ----------------------------------------------------------------------------------------

function lawTable(report) {
  const fingerprints = new Map();
  for (const story of report.stories) for (const finding of story.findings) if (!fingerprints.has(finding.law)) fingerprints.set(finding.law, finding.fingerprint);
  const rows = report.laws.map((law) => lawRow(law, fingerprints.get(law.id)));
  const chosen = { verdict: "", level: "", text: "" };
  const none = el("p", { class: "muted none", hidden: true }, "No law is like this.");
  const apply = () => {
    let shown = 0;
    report.laws.forEach((law, at) => {
      const text = `${law.id} ${law.statement} ${law.reason}`.toLowerCase();
      const fits = (!chosen.verdict || law.verdict === chosen.verdict) && (!chosen.level || law.level === chosen.level) && text.includes(chosen.text);
      rows[at].hidden = !fits;
      shown += fits;
    });
    none.hidden = shown > 0;
  };
  const verdicts = Object.keys(LAW_VERDICTS).filter((verdict) => report.laws.some((law) => law.verdict === verdict));
  const buttons = ["", ...verdicts].map((verdict) => {
    const count = report.laws.filter((law) => !verdict || law.verdict === verdict).length;
    return el("button", { type: "button", class: "filter", "aria-pressed": String(!verdict), "data-verdict": verdict, onclick: () => choose(verdict) }, verdict ? LAW_VERDICTS[verdict][1] : "all", el("span", { class: "muted" }, count));
  });
  const choose = (verdict) => {
    chosen.verdict = verdict;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
    apply();
  };
  const level = el("select", { "aria-label": "Level", onchange: (event) => { chosen.level = event.target.value; apply(); } }, el("option", { value: "" }, "every level"), LEVELS.map((name) => el("option", { value: name }, name)));
  const search = el("input", { type: "search", placeholder: "Search the laws", "aria-label": "Search the laws", oninput: (event) => { chosen.text = event.target.value.trim().toLowerCase(); apply(); } });
  const filters = el("div", { class: "filters", role: "group", "aria-label": "Which laws are shown" }, buttons, level, search);
  return el("div", {}, filters, el("div", { class: "laws" }, rows), none);
}

function lawRow(law, fingerprint) {
  const [sign, word] = LAW_VERDICTS[law.verdict] ?? ["question", law.verdict];
  return el(
    "details",
    { class: `law-row ${law.verdict}`, id: `law-${law.id}` },
    el(
      "summary",
      {},
      el("code", {}, breaking(law.id)),
      el("span", { class: `level ${law.level.toLowerCase()}` }, law.level),
      el("span", { class: `state ${law.verdict}` }, icon(sign), word),
      el("span", { class: "checks" }, law.checks ? many(law.checks, "check") : "never checked"),
      el("span", { class: `reason muted${law.reason ? "" : " stated"}` }, law.reason || law.statement),
    ),
    el("div", { class: "more" }, el("p", {}, law.statement || "The report has no words for this law."), fingerprint && el("p", {}, el("a", { href: `#finding-${fingerprint}` }, "To the finding"))),
  );
}

// -- coverage ---------------------------------------------------------------------------------------------

function coverage(report) {
  const { edges } = report.coverage;
  const share = edges.total ? (100 * edges.run) / edges.total : 0;
  return [
    el("h3", {}, "Guards"),
    el("p", { class: "muted" }, "How often each admission guard gave each outcome. A law about a guard counts as exercised only if an OK and a refusal were seen."),
    guardTable(report),
    el("h3", {}, "Edge cases"),
    el("div", { class: "meter", role: "img", "aria-label": `${edges.run} of ${edges.total} reached` }, el("i", { "--share": `${share}%` })),
    el("p", {}, el("b", {}, `${edges.run.toLocaleString("en")} of ${many(edges.total, "vector")}`), ` reached on this target; ${many(edges.unreachable, "further class")}`.replace("classs", "classes"), " proved to be unreachable."),
  ];
}

function guardTable(report) {
  const guards = guardRows(report);
  if (!guards.length) return el("p", {}, "This target has no guards: admission is tried.");
  const most = Math.max(1, ...report.coverage.guards.map((line) => line.hits));
  const head = el("tr", {}, el("th", { scope: "col" }, "guard"), Object.values(OUTCOMES).map((word) => el("th", { scope: "col" }, word)));
  const rows = guards.map(([guard, outcomes]) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, `can_${guard}`)), outcomes.map((hits) => guardCell(hits, most))));
  return el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Guard coverage" }, el("table", { class: "guards" }, el("thead", {}, head), el("tbody", {}, rows)));
}

/** Each guard that is offered or was asked, with its hits by outcome; null for an outcome that it does not have. */
function guardRows(report) {
  const hits = new Map(report.coverage.guards.map(({ guard, outcome, hits: count }) => [`${guard} ${outcome}`, count]));
  const offered = Object.keys(report.target.capabilities).filter((name) => name.startsWith("guard-") && report.target.capabilities[name]);
  const names = [...new Set([...offered.map((name) => name.slice("guard-".length).replaceAll("-", "_")), ...report.coverage.guards.map((line) => line.guard)])];
  return names.map((guard) => {
    const count = (outcome) => hits.get(`${guard} ${outcome}`) ?? 0;
    const three = count("later") + count("never") > 0 || (report.target.capabilities["three-valued"] && !count("no"));
    return [guard, [count("ok"), three ? count("later") : null, three ? count("never") : null, three && !count("no") ? null : count("no")]];
  });
}

function guardCell(hits, most) {
  if (hits === null) return el("td", { class: "absent" }, el("span", { "aria-label": "not an outcome of this guard" }, "–"));
  if (!hits) return el("td", { class: "unseen" }, el("span", {}, icon("alert"), "0", el("span", { class: "small" }, " never seen")));
  return el("td", {}, el("span", { class: "hits", "--share": `${(100 * Math.log1p(hits)) / Math.log1p(most)}%` }, hits.toLocaleString("en")));
}

// -- known deviations -------------------------------------------------------------------------------------

const STANDINGS = {
  "still failing": ["bookmark", "known"],
  stale: ["cross", "violated"],
  expired: ["cross", "violated"],
  "cannot run": ["question", "not-exercised"],
  "not reached": ["question", "not-exercised"],
  "not selected": ["minus", "not-applicable"],
};

/** The ledger of known deviations, entry by entry, with what became of each. */
function knownElement(lines) {
  return el("div", { class: "ledger" }, lines.map((line) => {
    const [sign, tone] = STANDINGS[line.status] ?? ["question", "not-exercised"];
    return el(
      "section",
      { class: "entry" },
      el("p", { class: "top" }, el("code", {}, breaking(line.law)), el("span", { class: `state ${tone}` }, icon(sign), line.status), el("span", { class: "muted small" }, `${line.fingerprint}, until ${line.expires}`)),
      el("p", {}, line.reason),
      line.detail && el("p", { class: "detail" }, line.detail),
      line.link && el("p", { class: "small" }, linked(line.link)),
    );
  }));
}

/** An address as a link, if it is one of the web; anything else as text. */
function linked(address) {
  if (!/^https?:[/][/]/.test(address)) return address;
  return el("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, address);
}

// -- target and environment -------------------------------------------------------------------------------

function targetElement(report) {
  const { capabilities, restrictions } = report.target;
  const names = (offered) => Object.keys(capabilities).filter((name) => capabilities[name] === offered);
  const chips = (list) => (list.length ? el("ul", { class: "names" }, list.map((name) => el("li", {}, name))) : el("p", { class: "muted" }, "none"));
  return [
    el("h3", {}, "What it offers"),
    chips(names(true)),
    el("details", { class: "plain" }, el("summary", {}, `${names(false).length} capabilities that it does not offer`), chips(names(false))),
    report.without.length > 0 && [el("h3", {}, "Left out of this run"), chips(report.without)],
    restrictions.length > 0 && [
      el("h3", {}, "What its engine never does, by the adapter's word"),
      el("dl", { class: "restrictions" }, restrictions.map(({ what, reason }) => el("div", {}, el("dt", {}, el("code", {}, what)), el("dd", {}, reason)))),
    ],
  ];
}

function environmentElement(report) {
  return el("dl", { class: "run" }, Object.entries(report.environment).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}
