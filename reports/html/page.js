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

  // Filters: squares that do not match are dimmed, rows leave the list.
  const pins = all(".pin");
  const rows = new Map(all(".rules li[data-rule]").map((row) => [row.dataset.rule, row]));
  const heads = all(".rules .family");
  const state = { show: "all", level: "any", text: "" };
  const text = new Map(pins.map((pin) => [pin, `${pin.getAttribute("aria-label")} ${pin.closest("tr").querySelector("th").textContent}`.toLowerCase()]));
  const matches = (pin) =>
    (state.show === "all" || (state.show === "judged" ? pin.dataset.group !== "planned" : pin.dataset.group === "failing")) &&
    (state.level === "any" || pin.dataset.level === state.level) &&
    state.text.split(/\s+/).every((word) => text.get(pin).includes(word));
  const apply = () => {
    let found = 0;
    for (const pin of pins) {
      const yes = matches(pin);
      found += yes;
      pin.classList.toggle("dim", !yes);
      rows.get(pin.dataset.rule).classList.toggle("gone", !yes);
    }
    for (const row of all("tr[data-family]")) row.classList.toggle("gone", !row.querySelector(".pin:not(.dim)"));
    for (const head of heads) head.classList.toggle("gone", !head.querySelector("li:not(.gone)"));
    one("found").textContent = found === pins.length ? "" : `${found} of ${pins.length} rules`;
  };
  for (const key of ["show", "level"]) {
    for (const button of all(`button[data-${key}]`)) {
      button.addEventListener("click", () => {
        state[key] = button.dataset[key];
        all(`button[data-${key}]`).forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        apply();
      });
    }
  }
  const search = (words) => { state.text = words.toLowerCase().trim(); apply(); };
  one("q").addEventListener("input", (event) => search(event.target.value));

  // The case file: a dialog while it is open; the focus goes in, stays in, and returns to where it came from.
  let opener = null;
  const opened = () => all(".case").find((panel) => getComputedStyle(panel).display !== "none" && getComputedStyle(panel).position === "fixed");
  const follow = () => {
    const panel = opened();
    pins.forEach((pin) => pin.classList.toggle("here", !!panel && panel.id === `/${pin.dataset.rule}`));
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

  // Squares: one stop for Tab, arrows between them.
  pins.forEach((pin, place) => { pin.tabIndex = place ? -1 : 0; });
  const go = (from, to) => { if (to) { from.tabIndex = -1; to.tabIndex = 0; to.focus(); } };
  const beside = (pin, by) => { const bright = pins.filter((other) => !other.classList.contains("dim")); return bright[bright.indexOf(pin) + by]; };
  const below = (pin, by) => {
    const groups = all(".pins").filter((group) => group.querySelector(".pin:not(.dim)"));
    const group = groups[groups.indexOf(pin.parentNode) + by];
    return group && (group.children[[...pin.parentNode.children].indexOf(pin)] || group.lastElementChild);
  };
  const moves = { ArrowRight: [beside, 1], ArrowLeft: [beside, -1], ArrowDown: [below, 1], ArrowUp: [below, -1] };

  addEventListener("keydown", (event) => {
    const panel = opened();
    const typing = event.target.matches("input");
    if (event.key === "Escape") { if (panel) close(); else if (typing) { event.target.value = ""; search(""); event.target.blur(); } }
    else if (event.key === "Tab" && panel) tab(panel, event);
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
