const by = (id) => document.getElementById(id);
const table = by("heat"), slider = by("step"), shown = by("shown"), detail = by("cell");
const rows = [...Array(D.layers).keys(), -1];
slider.max = D.steps - 1;
let at = [0, 0];
const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹", power = (e) => (e ? "10⁻" + digits[-e] : "1");
const unit = D.local ? "of the budget" : "of the left run", largest = D.local ? 0 : -2;
const decades = [-5, -4, -3, -2, -1, 0].map((e) => [limit() * 10 ** e, `up to ${power(e + largest)} ${e ? "" : unit}`]);
const legend = [[0, "equal"], ...(D.local ? [[-1, "correctly rounded: no nearer value exists"]] : []), ...decades, [2 * limit(), D.local ? "beyond the bound: wrong" : "further apart"]];
by("scale").innerHTML = legend.map(([value, text]) => `<li><i style="background:${colour(value)}"></i> ${text}</li>`).join("") +
  (D.first ? `<li><i class="first" style="background:${colour(2 * limit())}">!</i> the first divergence</li>` : "") + `<li><i class="none"></i> no op there</li>`;

// The larger reading of each place, for one step or for all of them.
function readings(step) {
  const found = new Map();
  for (const [s, layer, column, share, drift, op] of D.cells) {
    if (step >= 0 && s !== step) continue;
    const key = layer + "," + column, old = found.get(key);
    const value = D.local ? share : drift;
    if (!old || rank(value) > rank(old.value)) found.set(key, { value, share, drift, op, step: s });
  }
  return found;
}

// A correctly rounded result, −1, is behind an equal one and before every share.
function rank(value) { return value < 0 ? Number.MIN_VALUE : value; }

function limit() { return D.local ? 1 : 1e-2; }

// Green where equal, teal where correctly rounded, six decades from pale to dark blue; beyond the bound, red.
function colour(value) {
  if (value > limit()) return "hsl(2 75% 45%)";
  if (value < 0) return "hsl(176 42% 56%)";
  if (value === 0) return "hsl(141 38% 74%)";
  const t = Math.min(1, Math.max(0, (Math.log10(value / limit()) + 6) / 6));
  return `hsl(212 72% ${90 - 46 * t}%)`;
}

function draw() {
  const step = Number(slider.value), found = readings(step);
  shown.textContent = step < 0 ? "all steps" : step === 0 ? "0 (prefill)" : step + " (decode)";
  slider.setAttribute("aria-valuetext", shown.textContent);
  const head = "<thead><tr><th></th>" + D.columns.map((c) => `<th scope="col">${c}</th>`).join("") + "</tr></thead>";
  const line = (layer, r) => {
    const name = layer < 0 ? "model" : layer;
    const cells = D.columns.map((point, c) => {
      const cell = found.get(layer + "," + c);
      if (!cell) return "<td></td>";
      const first = D.first && D.first[2] === point && (D.first[1] ?? -1) === layer && (step < 0 || step === D.first[0]);
      const label = `${layer < 0 ? name : "layer " + name}, ${point}`;
      return `<td><button data-r="${r}" data-c="${c}" tabindex="-1" class="${first ? "first" : ""}" style="background:${colour(cell.value)}" aria-label="${label}">${first ? "!" : ""}</button></td>`;
    });
    return `<tr><th scope="row">${name}</th>${cells.join("")}</tr>`;
  };
  table.innerHTML = head + "<tbody>" + rows.map(line).join("") + "</tbody>";
  // One cell can always be reached by the Tab key, also where this step has not the one chosen before.
  if (choose(at[0], at[1], false)) return;
  const any = table.querySelector("button");
  if (any) choose(+any.dataset.r, +any.dataset.c, false);
}

function choose(r, c, focus) {
  const button = table.querySelector(`button[data-r="${r}"][data-c="${c}"]`);
  if (!button) return false;
  table.querySelectorAll("button.at").forEach((b) => { b.classList.remove("at"); b.tabIndex = -1; });
  button.classList.add("at");
  button.tabIndex = 0;
  at = [r, c];
  const cell = readings(Number(slider.value)).get(rows[r] + "," + c);
  const percent = (x) => (x > 10 ? (x >= 1e299 ? "infinitely many" : x.toExponential(1)) + " times" : (x * 100).toPrecision(3) + " % of");
  const share = !D.local ? "" : cell.share < 0 ? "correctly rounded, " : cell.share === 0 ? "equal to the oracle, " : `${percent(cell.share)} the budget, `;
  detail.textContent = `${button.getAttribute("aria-label")}: ${cell.op}, ${share}drift ${cell.drift.toExponential(1)}, step ${cell.step}`;
  const number = finding(cell.step);
  if (number >= 0) detail.insertAdjacentHTML("beforeend", ` <a href="#finding${number}">what is wrong</a> (Enter)`);
  if (focus) button.focus();
  return true;
}

// The number of the finding at the chosen place, −1 where there is none.
function finding(step) {
  const [layer, point] = [rows[at[0]], D.columns[at[1]]];
  return D.findings.findIndex((f) => f[0] === step && (f[1] ?? -1) === layer && f[2] === point);
}

// Opens a finding and moves there.
function unfold(number) {
  const section = by("finding" + number);
  if (!section) return;
  const folded = section.closest("details");
  if (folded) folded.open = true;
  section.focus();
  section.scrollIntoView({ block: "center" });
}

// The next cell in a direction: straight ahead, or else the nearest that lies there at all.
function move(dr, dc) {
  let best, least = Infinity;
  for (const b of table.querySelectorAll("button")) {
    const r = b.dataset.r - at[0], c = b.dataset.c - at[1];
    const ahead = dr ? r * dr : c * dc, aside = Math.abs(dr ? c : r);
    const cost = ahead > 0 ? (aside ? 1e6 : 0) + ahead * 1e3 + aside : Infinity;
    if (cost < least) [best, least] = [b, cost];
  }
  if (best) choose(+best.dataset.r, +best.dataset.c, true);
}

// The first or the last cell of the row.
function edge(last) {
  const row = [...table.querySelectorAll(`button[data-r="${at[0]}"]`)], b = row.at(last ? -1 : 0);
  if (b) choose(at[0], +b.dataset.c, true);
}

table.addEventListener("click", (e) => e.target.dataset.r && choose(+e.target.dataset.r, +e.target.dataset.c, true));
table.addEventListener("keydown", (e) => {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const steps = { PageUp: -1, PageDown: 1 };
  if (moves[e.key]) move(...moves[e.key]);
  else if (steps[e.key]) { slider.value = Number(slider.value) + steps[e.key]; draw(); choose(at[0], at[1], true); }
  else if (e.key === "Home" || e.key === "End") edge(e.key === "End");
  else if (e.key === "Enter") unfold(finding(readings(Number(slider.value)).get(rows[at[0]] + "," + at[1]).step));
  else return;
  e.preventDefault();
});
slider.addEventListener("input", draw);
if (D.first) at = [rows.indexOf(D.first[1] ?? -1), D.columns.indexOf(D.first[2])];
draw();
// A link to a finding opens what it is folded into.
detail.addEventListener("click", (e) => { if (e.target.hash) { e.preventDefault(); unfold(e.target.hash.replace("#finding", "")); } });
