// What the page does beyond being read: filters, search, keys, theme, copying. Everything else works without this.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);
  root.classList.add("js");
  all(".copy").forEach((button) => { button.hidden = false; });

  // The theme: the reader's choice on this page, else that of the system.
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme:dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { one("theme").textContent = dark() ? "Light" : "Dark"; };
  one("theme").addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  const wish = new URLSearchParams(location.search).get("theme");
  if (wish === "dark" || wish === "light") root.dataset.theme = wish;
  name();
  one("print").addEventListener("click", () => print());

  // Filters: by rule, on all brokers at once. Squares of rules that do not match are dimmed, their rows leave the list.
  const pins = all(".pin");
  const ruleOf = (pin) => pin.hash.split("/")[1];
  const rows = new Map(all(".rules li[data-rule]").map((row) => [row.dataset.rule, row]));
  const heads = all(".rules .family");
  const tables = all("tr[data-family]");
  const state = { show: "all", level: "any", area: "", text: "" };
  const text = new Map();
  for (const head of heads) {
    const family = head.querySelector("h3").textContent + head.querySelector(".sub").textContent;
    for (const row of all("li[data-rule]", head)) text.set(row, `${row.querySelector(".row").textContent} ${family}`.toLowerCase());
  }
  const shows = {
    all: () => true,
    judged: (row) => row.dataset.groups !== "planned",
    failing: (row) => row.dataset.groups.split(" ").includes("failing"),
    known: (row) => row.dataset.groups.split(" ").some((group) => group === "failing" || group === "known"),
    differ: (row) => "differs" in row.dataset,
    flaky: (row) => "flaky" in row.dataset,
    changed: (row) => "changed" in row.dataset,
  };
  const matches = (row) =>
    shows[state.show](row) &&
    (state.level === "any" || row.dataset.level === state.level) &&
    (!state.area || state.area.split(" ").includes(row.closest(".family").dataset.family)) &&
    state.text.split(/\s+/).every((word) => text.get(row).includes(word));
  const apply = () => {
    let found = 0;
    for (const row of rows.values()) {
      const yes = matches(row);
      found += yes;
      row.classList.toggle("gone", !yes);
    }
    for (const pin of pins) pin.classList.toggle("dim", rows.get(ruleOf(pin)).classList.contains("gone"));
    for (const row of tables) row.classList.toggle("gone", !row.querySelector(".pin:not(.dim)"));
    for (const head of heads) head.classList.toggle("gone", !head.querySelector("li:not(.gone)"));
    one("found").textContent = found === rows.size ? "" : `${found} of ${rows.size} rules`;
  };
  one("sheet").addEventListener("mouseover", (event) => {
    const pin = event.target.closest(".pin");
    if (pin && !pin.title) pin.title = `${pin.getAttribute("aria-label")}. ${rows.get(ruleOf(pin)).querySelector(".row span").textContent}`;
  });
  for (const key of ["show", "level"]) {
    for (const button of all(`button[data-${key}]`)) {
      button.addEventListener("click", () => {
        state[key] = button.dataset[key];
        all(`button[data-${key}]`).forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        apply();
      });
    }
  }
  one("area").addEventListener("change", (event) => { state.area = event.target.value; apply(); });
  const search = (words) => { state.text = words.toLowerCase().trim(); apply(); };
  one("q").addEventListener("input", (event) => search(event.target.value));

  // The case file: a dialog while it is open; the focus goes in, stays in, and returns to where it came from.
  let opener = null;
  const opened = () => all(".case").find((panel) => getComputedStyle(panel).display !== "none" && getComputedStyle(panel).position === "fixed");
  const tabs = (panel) => all(".tabs a", panel);
  const current = (panel) => {
    const side = all(".side", panel).find((other) => getComputedStyle(other).display !== "none");
    return tabs(panel).find((tab) => side && tab.hash === `#${side.id}`);
  };
  const beyond = (panel, by) => {
    const links = tabs(panel);
    const next = links[links.indexOf(current(panel)) + by];
    if (next) { next.focus(); location.replace(next.hash); }
  };
  const follow = () => {
    const panel = opened();
    pins.forEach((pin) => pin.classList.toggle("here", !!panel && panel.id === `/${ruleOf(pin)}`));
    all(".tabs [aria-current]").forEach((tab) => tab.removeAttribute("aria-current"));
    const tab = panel && current(panel);
    if (tab) tab.setAttribute("aria-current", "true");
    all(".case[role]").forEach((other) => { other.removeAttribute("role"); other.removeAttribute("aria-modal"); });
    if (!panel) { if (opener) opener.focus(); opener = null; return; }
    panel.setAttribute("role", "dialog");
    panel.setAttribute("aria-modal", "true");
    const step = document.querySelector("li:target > details");
    if (step) { step.open = true; step.querySelector("summary").focus(); step.scrollIntoView({ block: "center" }); }
    else if (!panel.contains(document.activeElement)) panel.focus({ preventScroll: true });
  };
  const close = () => { location.hash = "#/"; };
  const tab = (panel, event) => {
    const stops = all("a[href], button:not([hidden]), summary, [tabindex='0']", panel).filter((stop) => stop.getClientRects().length);
    const edge = event.shiftKey ? stops[0] : stops[stops.length - 1];
    const at = document.activeElement;
    if (at === edge || (at === panel && event.shiftKey)) {
      event.preventDefault();
      stops[event.shiftKey ? stops.length - 1 : 0].focus();
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#/']");
    const panel = opened();
    if (link && !panel) opener = link;
    else if (panel && !panel.contains(event.target) && !link) close();
  });
  addEventListener("hashchange", follow);
  addEventListener("load", follow);

  // Squares: one stop for Tab, arrows between them.
  pins.forEach((pin, place) => { pin.tabIndex = place ? -1 : 0; });
  const go = (from, to) => { if (to) { from.tabIndex = -1; to.tabIndex = 0; to.focus(); } };
  const beside = (pin, by) => { const bright = pins.filter((other) => !other.classList.contains("dim")); return bright[bright.indexOf(pin) + by]; };
  const below = (pin, by) => {
    const cell = pin.closest("td");
    const rowsLeft = tables.filter((row) => !row.classList.contains("gone"));
    const row = rowsLeft[rowsLeft.indexOf(cell.parentNode) + by];
    const group = row && row.cells[cell.cellIndex].querySelector(".pins");
    const bright = group ? all(".pin:not(.dim)", group) : [];
    return bright[Math.min([...pin.parentNode.children].indexOf(pin), bright.length - 1)];
  };
  const moves = { ArrowRight: [beside, 1], ArrowLeft: [beside, -1], ArrowDown: [below, 1], ArrowUp: [below, -1] };

  addEventListener("keydown", (event) => {
    const panel = opened();
    const typing = event.target.matches("input");
    if (event.key === "Escape") { if (panel) close(); else if (typing) { event.target.value = ""; search(""); event.target.blur(); } }
    else if (event.key === "Tab" && panel) tab(panel, event);
    else if (panel && !typing && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      beyond(panel, event.key === "ArrowRight" ? 1 : -1);
    }
    else if (event.key === "/" && !typing && !panel) { event.preventDefault(); one("q").focus(); }
    else if (event.target.matches(".pin") && moves[event.key] && !panel) {
      const [step, by] = moves[event.key];
      event.preventDefault();
      go(event.target, step(event.target, by));
    }
  });

  // Copying.
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    if (!button || !navigator.clipboard) return;
    const what = button.dataset.copy === "link" ? location.href : button.parentNode.querySelector("pre").textContent;
    const before = button.textContent;
    navigator.clipboard.writeText(what).then(() => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = before; }, 1200);
    });
  });
  follow();
})();
