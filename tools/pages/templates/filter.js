// Sections of the third rank, one a rule: only those that hold every word that was typed are shown, and of the
// sections above them only those of which a rule is left; the introduction gives way. Without this script the page is
// whole.
const main = document.querySelector("main");
const below = (head, stop) => {
  const parts = [];
  for (let next = head.nextElementSibling; next && !stop.test(next.tagName); next = next.nextElementSibling) parts.push(next);
  return parts;
};
const rules = [...main.querySelectorAll("h3")].map((head) => {
  const parts = [head, ...below(head, /^H[1-3]$/)];
  return { head, parts, text: parts.map((part) => part.textContent).join(" ").toLowerCase() };
});
const families = [...main.querySelectorAll("h2")].map((head) => ({
  parts: [head, ...below(head, /^H[1-3]$/)],
  rules: rules.filter((rule) => below(head, /^H[12]$/).includes(rule.head)),
}));
const label = document.createElement("label");
label.className = "filter";
label.innerHTML = 'Show rules with these words <input type="search" placeholder="must quorum prefetch"> <output></output>';
main.querySelector("h1").after(label);
const lead = below(label, /^H2$/);
const [input, output] = label.children;
const show = (parts, shown) => parts.forEach((part) => (part.hidden = !shown));
const filter = () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const left = new Set(rules.filter((rule) => words.every((word) => rule.text.includes(word))));
  show(lead, !words.length);
  rules.forEach((rule) => show(rule.parts, left.has(rule)));
  families.forEach((family) => show(family.parts, !words.length || family.rules.some((rule) => left.has(rule))));
  output.value = `${left.size} of ${rules.length}`;
};
input.addEventListener("input", filter);
filter();
