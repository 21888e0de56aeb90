"use strict";
// Text from the run enters the page through text nodes alone: nothing here writes markup.

const data = JSON.parse(document.getElementById("data").textContent);
const COLORS = ["var(--blue)", "var(--orange)", "var(--green)", "var(--purple)"];
const OUTCOMES = { right: "✓", wrong: "✗", truncated: "…", invalid: "!", unjudged: "·" };

function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function format(value, unit = "") {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (unit === "%") return `${+(100 * value).toFixed(1)} %`;
  const size = Math.abs(value);
  if (size >= 1e4) return `${+(value / 1e3).toFixed(1)}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(1);
  return String(+value.toPrecision(size >= 100 ? 4 : 3));
}

// ---- tooltip
const tip = element("div", { id: "tip", hidden: true, role: "status" });
document.body.append(tip);
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
}
const hideTip = () => { tip.hidden = true; };

// ---- charts
const charts = []; // all that share the steps as their axis, so that the cross-hair is one

function niceTicks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const ticks = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step) ticks.push(Math.abs(t) < 1e-12 * step ? 0 : t);
  return ticks;
}

// As many digits as the distance between ticks needs.
function tickText(value, distance, unit) {
  const scale = unit === "%" ? 100 : Math.abs(value) >= 1e4 ? 1e-3 : 1;
  const gap = distance * scale, power = Math.floor(Math.log10(gap) + 1e-9);
  if (scale === 1 && power < -5) return value === 0 ? "0" : value.toExponential(1);
  const digits = Math.max(0, -power + (Math.abs(gap / 10 ** power - 2.5) < 1e-6 ? 1 : 0));
  return (value * scale).toFixed(digits) + (unit === "%" ? " %" : scale === 1 ? "" : "k");
}

function smoothed(values) {
  const keep = Math.min(0.95, 1 - 12 / Math.max(13, values.length));
  let mean = null, weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = keep * (mean ?? 0) + (1 - keep) * value;
    weight = keep * weight + (1 - keep);
    return mean / weight;
  });
}

function path(xs, ys, X, Y) {
  let line = "", pen = false;
  ys.forEach((y, i) => {
    if (y === null || y === undefined) { pen = false; return; }
    line += `${pen ? "L" : "M"}${X(xs[i]).toFixed(1)} ${Y(y).toFixed(1)}`;
    pen = true;
  });
  return line;
}

// spec: {xs, lines: [{label, ys, low?, high?, color, dash?, points?}], unit, xlabel, ticks?, logx?, height?, smooth?, name}
function chart(spec) {
  const W = 360, H = spec.height ?? 170, left = 46, right = 10, top = 10, bottom = 30;
  const at = spec.logx ? (x) => Math.log2(x) : (x) => x;
  const all = spec.lines.flatMap((l) => [...l.ys, ...(l.low ?? []), ...(l.high ?? [])]).filter((y) => y !== null && y !== undefined);
  const xAll = spec.lines.flatMap((l) => l.xs ?? spec.xs).map(at);
  let [low, high] = [Math.min(...all), Math.max(...all)];
  if (high === 0 && low === 0) high = spec.unit === "%" ? 0.1 : 1;
  else if (high - low < 0.01 * Math.max(Math.abs(high), Math.abs(low))) {
    // Rounding noise of a constant is not a curve.
    const middle = (high + low) / 2, half = 0.01 * Math.abs(middle);
    [low, high] = [middle - half, middle + half];
  }
  const margin = 0.06 * (high - low);
  if (!(low >= 0 && low - margin < 0)) low -= margin; else low = 0;
  high += margin;
  let [x0, x1] = [Math.min(...xAll), Math.max(...xAll)];
  if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
  const X = (x) => left + ((at(x) - x0) / (x1 - x0)) * (W - left - right);
  const Y = (y) => top + ((high - y) / (high - low)) * (H - top - bottom);
  const svg = shape("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", tabindex: 0, "aria-label": describe(spec) });
  const yTicks = niceTicks(low, high, 5);
  for (const t of yTicks) {
    svg.append(shape("line", { class: "axis", x1: left, x2: W - right, y1: Y(t), y2: Y(t) }));
    svg.append(shape("text", { x: left - 6, y: Y(t) + 4, "text-anchor": "end" }, tickText(t, yTicks[1] - yTicks[0], spec.unit)));
  }
  const xTicks = spec.ticks ?? niceTicks(x0, x1, 5).filter(Number.isInteger);
  for (const t of xTicks) svg.append(shape("text", { x: X(t), y: H - bottom + 15, "text-anchor": "middle" }, String(t)));
  svg.append(shape("text", { x: (left + W - right) / 2, y: H - 2, "text-anchor": "middle" }, spec.xlabel ?? "step"));
  for (const line of spec.lines) {
    const xs = line.xs ?? spec.xs;
    if (line.low) {
      const known = xs.map((x, i) => i).filter((i) => line.low[i] !== null && line.high[i] !== null);
      const band = known.map((i) => `${X(xs[i])},${Y(line.high[i])}`).concat(known.reverse().map((i) => `${X(xs[i])},${Y(line.low[i])}`));
      svg.append(shape("polygon", { points: band.join(" "), fill: line.color, opacity: 0.16 }));
    }
    const calm = spec.smooth && xs.length > 25;
    if (calm) svg.append(shape("path", { d: path(xs, line.ys, X, Y), fill: "none", stroke: line.color, opacity: 0.25 }));
    svg.append(shape("path", { d: path(xs, calm ? smoothed(line.ys) : line.ys, X, Y), fill: "none", stroke: line.color, "stroke-width": 2, "stroke-dasharray": line.dash ? "5 4" : null, "stroke-linejoin": "round" }));
    if (line.points || xs.length < 3) xs.forEach((x, i) => { if (line.ys[i] !== null) svg.append(shape("circle", { cx: X(x), cy: Y(line.ys[i]), r: 3, fill: line.color })); });
  }
  const cross = shape("line", { class: "cross", y1: top, y2: H - bottom, visibility: "hidden" });
  svg.append(cross);
  const me = {
    mark(x) {
      const inside = x !== null && at(x) >= x0 && at(x) <= x1;
      cross.setAttribute("visibility", inside ? "visible" : "hidden");
      if (inside) { cross.setAttribute("x1", X(x)); cross.setAttribute("x2", X(x)); }
    },
  };
  const peers = spec.logx ? [me] : charts;
  if (!spec.logx) charts.push(me);
  const places = [...new Set(spec.lines.flatMap((l) => l.xs ?? spec.xs))].sort((a, b) => a - b);
  let place = places.length - 1;
  const tell = (i, px, py) => {
    place = i;
    peers.forEach((peer) => peer.mark(places[i]));
    showTip(reading(spec, places[i]), px, py);
  };
  const leave = () => { hideTip(); peers.forEach((peer) => peer.mark(null)); };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * W;
    let best = 0;
    places.forEach((p, i) => { if (Math.abs(X(p) - x) < Math.abs(X(places[best]) - x)) best = i; });
    tell(best, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect(), next = Math.max(0, Math.min(places.length - 1, place + move));
    tell(next, box.left + (X(places[next]) / W) * box.width, box.top + 20);
  });
  return svg;
}

function reading(spec, x) {
  const lines = [`${spec.xlabel ?? "step"} ${x}`];
  for (const line of spec.lines) {
    const i = (line.xs ?? spec.xs).indexOf(x);
    if (i < 0 || line.ys[i] === null) continue;
    const bounds = line.low && line.low[i] !== null ? `  [${format(line.low[i], spec.unit)}, ${format(line.high[i], spec.unit)}]` : "";
    lines.push(`${line.label}  ${format(line.ys[i], spec.unit)}${bounds}`);
  }
  return lines.join("\n");
}

function describe(spec) {
  const ends = spec.lines.map((line) => {
    const known = line.ys.filter((y) => y !== null && y !== undefined);
    return `${line.label} from ${format(known[0], spec.unit)} to ${format(known[known.length - 1], spec.unit)}`;
  });
  return `${spec.name}: ${ends.join("; ")}. Arrow keys read values.`;
}

function legend(lines) {
  return element("span", { class: "legend" }, ...lines.map((l) => element("span", {}, element("i", { class: l.dash ? "dash" : "", style: `border-color:${l.color}` }), l.label)));
}

function panel(spec, meaning) {
  const last = spec.lines[0].ys.filter((y) => y !== null).pop();
  const note = spec.lines.length > 1 ? legend(spec.lines) : meaning;
  return element("div", { class: "panel" },
    element("h3", { title: meaning }, spec.name, element("span", { class: "last", title: `${spec.lines[0].label}, raw value of the last step` }, element("small", {}, "last "), format(last, spec.unit))),
    element("p", { class: "what" }, note), chart(spec));
}

function heldOut() {
  const lines = data.results.flatMap((r, i) => r.history.map(({ judge, points }, j) => ({
    label: `${r.set}, by ${judge}`, xs: points.map((h) => h.step), ys: points.map((h) => h.mean),
    low: points.map((h) => h.low), high: points.map((h) => h.high), color: COLORS[(i + 2 * j) % 4], dash: j > 0, points: true,
  })));
  return lines.length ? panel({ name: "Held-out pass@1", lines, xs: [], unit: "" }, "with its 95 % interval over problems") : null;
}

function drawCurves() {
  charts.length = 0;
  const smooth = document.getElementById("smooth").checked;
  const { steps, series, charts: main, others } = data.curves;
  const make = (c) => panel({ name: c.title, unit: c.unit, xs: steps, smooth: smooth && !c.exact, lines: c.lines.map(([name, label], i) => ({ label, ys: series[name], color: COLORS[i % 4] })) }, c.meaning);
  const first = main.filter((c) => c.title === "Reward").map(make), rest = main.filter((c) => c.title !== "Reward").map(make);
  document.getElementById("charts")?.replaceChildren(...[...first, heldOut(), ...rest].filter(Boolean));
  const more = document.getElementById("others");
  if (more) {
    more.hidden = !others.length;
    const draw = () => document.getElementById("more-charts").replaceChildren(...(more.open ? others.map(make) : []));
    more.ontoggle = draw;
    if (!main.length) more.open = true;
    draw();
  }
}

function drawPassCurves() {
  for (const box of document.querySelectorAll("[data-passk]")) {
    const result = data.results[+box.dataset.passk];
    const line = (passes, label, color, dash) => {
      const ks = Object.keys(passes).map(Number).sort((a, b) => a - b);
      const get = (field) => ks.map((k) => passes[k][field]);
      return { label, xs: ks, ys: get("mean"), low: get("low"), high: get("high"), color, dash, points: true };
    };
    const [first, ...others] = result.judges, lines = [];
    if (first.before) lines.push(line(first.before, result.after ? "before" : "model", "var(--before)", true));
    if (first.after) lines.push(line(first.after, "after", "var(--blue)", false));
    if (result.examples) lines.push(line(result.examples.pass, "before, with examples", "var(--orange)", true));
    others.forEach((by, i) => {
      const passes = by.after ?? by.before, when = by.after ? "after" : "before";
      lines.push(line(passes, `${when}, by ${by.judge}`, ["var(--green)", "var(--purple)"][i % 2], true));
    });
    const ticks = [...new Set(lines.flatMap((l) => l.xs))];
    const spec = { name: `pass@k on ${result.set}`, lines, xs: [], xlabel: "k", logx: true, ticks, height: 215 };
    box.replaceChildren(element("p", { class: "what" }, `pass@k by ${first.judge}  `, legend(lines)), chart(spec));
  }
}

// ---- rollouts
const view = { outcome: "all", step: "all", sort: "step", text: "", color: "adv", current: 0 };
const SCALES = {
  adv: { label: "advantage", signed: true },
  ent: { label: "entropy", rgb: "--purple-rgb", ends: ["sure", "unsure"] },
  lp: { label: "log-prob", rgb: "--orange-rgb", ends: ["likely", "unlikely"] },
  none: { label: "none" },
};

const groups = data.rollouts.groups;
const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN);
const leading = (group) => group.rows.filter((row) => row.prompt === undefined); // not those of further seats of a play
const groupReward = (group) => mean(leading(group).map((row) => row.reward).filter((r) => r !== null));
const largest = {};
for (const name of ["adv", "ent", "lp"]) {
  const sizes = groups.flatMap((g) => g.rows.flatMap((r) => (Array.isArray(r[name]) ? r[name] : [r[name]]))).filter((v) => v !== null && v !== undefined).map(Math.abs).sort((a, b) => a - b);
  largest[name] = sizes.length ? sizes[Math.floor(0.98 * (sizes.length - 1))] || 1 : 0;
}

function matches(row) {
  if (view.outcome !== "all" && row.outcome !== view.outcome) return false;
  const text = view.text.toLowerCase();
  return !text || `${row.completion ?? ""}\n${row.answer ?? ""}\n${row.verdict_kind ?? ""}`.toLowerCase().includes(text);
}

function chosen() {
  const text = view.text.toLowerCase();
  const found = groups.filter((g) => (view.step === "all" || String(g.step) === view.step)
    && (g.rows.some(matches) || (text && g.prompt.toLowerCase().includes(text) && (view.outcome === "all" || g.rows.some((r) => r.outcome === view.outcome)))));
  const order = { step: () => 0, best: (a, b) => groupReward(b) - groupReward(a), worst: (a, b) => groupReward(a) - groupReward(b) }[view.sort];
  return found.sort((a, b) => order(a, b) || a.step - b.step);
}

function tokenColor(name, value) {
  if (value === null || value === undefined || !largest[name]) return null;
  const share = Math.min(1, Math.abs(value) / largest[name]);
  const rgb = SCALES[name].signed ? (value > 0 ? "--blue-rgb" : "--orange-rgb") : SCALES[name].rgb;
  return share < 0.02 ? null : `rgba(var(${rgb}), ${(0.08 + 0.5 * share).toFixed(2)})`;
}

function tokenSpans(row, from, to, chosen = true) {
  const get = (name, i) => (Array.isArray(row[name]) ? row[name][i] : row[name]);
  return row.tokens.slice(from, to).map((piece, place) => {
    const i = from + place, color = !chosen || view.color === "none" ? null : tokenColor(view.color, get(view.color, i));
    const node = element("span", { "data-i": i }, piece === "" ? "∎" : piece.replaceAll("\n", "↵\n"));
    if (color) node.style.background = color;
    return node;
  });
}

// A turn: who wrote it, whether it tells of an error, what it earned, and what it was written under, if that was replaced.
function turn(row, one, from) {
  const reply = one.author === "world", own = row.seat ?? "policy";
  const label = element("span", { class: "author" }, one.author === "given" ? "given" : reply ? "reply" : own,
    one.failed ? element("b", { class: "error" }, "an error of the policy") : null,
    one.earned !== undefined ? element("b", { class: "earned" }, `${one.earned > 0 ? "+" : ""}${format(one.earned)}`) : null);
  return element("div", { class: `turn ${reply ? "reply" : one.author === "given" ? "given" : "own"}${one.failed ? " failed" : ""}` },
    one.reads === undefined ? null : anew(one.reads),
    label, element("span", { class: "words" }, ...(row.tokens ? tokenSpans(row, from, from + one.tokens, !reply) : [one.text ?? ""])));
}

// What replaced all that was read before: its beginning, and all of it when it is opened.
function anew(text) {
  const short = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return element("details", { class: "anew" }, element("summary", {}, "reads anew: ", element("code", {}, short.replaceAll("\n", "↵"))), element("pre", {}, text));
}

function turnsOf(row) {
  let at = 0;
  return row.turns.map((one) => { at += one.tokens; return turn(row, one, at - one.tokens); });
}

const steps = (row) => `${row.length} ${row.length === 1 ? "step" : "steps"}`;

function walkOf(row) {
  const list = (values) => values.map((value) => (Array.isArray(value) ? `(${list(value)})` : format(value))).join(", ");
  const lines = row.walk.map(([seen, action, earned], i) => element("tr", {}, ...[i + 1, list(seen), list(action), format(earned)].map((text) => element("td", {}, String(text)))));
  const head = element("tr", {}, ...["step", "seen", "action", "earned"].map((name) => element("th", {}, name)));
  const left = row.length - row.walk.length;
  return element("details", {}, element("summary", {}, left > 0 ? `the first ${row.walk.length} of ${steps(row)}` : steps(row)),
    element("div", { class: "walk", tabindex: 0 }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines))));
}

function tokens(row) {
  const inside = row.turns ? turnsOf(row) : row.tokens ? tokenSpans(row, 0, row.tokens.length) : [row.completion ?? ""];
  const box = element("div", { class: "tokens", tabindex: 0 }, ...inside);
  if (!row.tokens) return box;
  const get = (name, i) => (Array.isArray(row[name]) ? row[name][i] : row[name]);
  box.addEventListener("pointermove", (event) => {
    const i = event.target.dataset?.i;
    if (i === undefined) return hideTip();
    const parts = ["adv", "ent", "lp"].filter((name) => get(name, i) !== undefined).map((name) => `${SCALES[name].label}  ${format(get(name, i))}`);
    showTip([`token ${+i + 1} of ${row.tokens.length}  ${JSON.stringify(row.tokens[i])}`, ...parts].join("\n"), event.clientX, event.clientY);
  });
  box.addEventListener("pointerleave", hideTip);
  return box;
}

// How many turns an answer has, where somebody replied.
function counted(row) {
  const replies = (row.turns ?? []).filter((one) => one.author === "world"), failed = replies.filter((one) => one.failed).length;
  if (!replies.length) return "";
  return `${replies.length} ${replies.length === 1 ? "reply" : "replies"}${failed ? `, ${failed} of an error` : ""}`;
}

function sibling(row) {
  const kind = row.verdict_kind && row.verdict_kind !== row.outcome ? ` (${row.verdict_kind})` : "";
  const parts = row.parts ? Object.entries(row.parts).map(([name, value]) => `${name} ${format(value)}`).join(", ") : "";
  const foot = [row.answer !== undefined ? `answer ${row.answer}` : "", parts, row.verdict_detail ?? "", row.in_loss === false ? "not trained on" : ""].filter(Boolean).join(" · ");
  return element("article", { class: `sibling${matches(row) ? "" : " off"}` },
    element("header", {}, row.prompt === undefined ? null : element("b", { class: "seat" }, row.seat ?? ""), element("b", { class: row.outcome }, `${OUTCOMES[row.outcome]} ${row.outcome}`), element("span", {}, kind), element("span", {}, `reward ${format(row.reward)}`),
      row.walk ? element("span", {}, `return ${format(row.return)}`) : null, element("span", {}, row.walk ? steps(row) : `${row.length} tokens`), counted(row) ? element("span", {}, counted(row)) : null, Array.isArray(row.adv) || row.adv === undefined || row.adv === null ? null : element("span", {}, `advantage ${row.adv > 0 ? "+" : ""}${format(row.adv)}`)),
    row.prompt === undefined ? null : element("pre", { class: "prompt-box" }, row.prompt), tokens(row), row.walk ? walkOf(row) : null, foot ? element("p", { class: "foot" }, foot) : null);
}

function scaleKey() {
  const scale = SCALES[view.color];
  if (view.color === "none" || !largest[view.color]) return null;
  const ends = scale.ends ?? [format(-largest[view.color]), `+${format(largest[view.color])}`];
  const stops = scale.signed ? "rgba(var(--orange-rgb), .58), transparent, rgba(var(--blue-rgb), .58)" : `transparent, rgba(var(${scale.rgb}), .58)`;
  return element("span", { class: "scale", "aria-hidden": "true" }, ends[0], element("i", { style: `background:linear-gradient(90deg, ${stops})` }), ends[1]);
}

function marks(group) {
  return element("span", { class: "marks", "aria-label": Object.keys(OUTCOMES).map((o) => [o, leading(group).filter((r) => r.outcome === o).length]).filter(([, n]) => n).map(([o, n]) => `${n} ${o}`).join(", ") },
    ...leading(group).map((row) => element("span", { class: row.outcome, "aria-hidden": "true" }, OUTCOMES[row.outcome])));
}

function drawReader() {
  const list = document.getElementById("list"), detail = document.getElementById("detail");
  const found = chosen();
  if (!found.includes(groups[view.current])) view.current = groups.indexOf(found[0]);
  list.replaceChildren(...(found.length ? found.map((group) => element("li", {}, element("button", {
    type: "button", "aria-current": String(groups[view.current] === group),
    onclick: () => { view.current = groups.indexOf(group); drawReader(); },
  }, element("span", { class: "top" }, element("span", {}, `step ${group.step}`), marks(group)), element("span", { class: "prompt" }, group.prompt)))) : [element("li", { class: "none" }, "Nothing matches.")]));
  const group = groups[view.current];
  if (!group) { detail.replaceChildren(element("p", { class: "empty" }, "Choose another filter.")); return; }
  const about = [`step ${group.step}`, group.task, group.level === null ? "" : `level ${group.level}`, leading(group).length === 1 ? "1 answer" : `${leading(group).length} answers`, `mean reward ${format(+groupReward(group).toFixed(3))}`];
  detail.replaceChildren(element("p", { class: "what" }, about.filter(Boolean).join(" · ")), element("pre", { class: "prompt-box", tabindex: 0 }, group.prompt),
    element("div", { class: "siblings" }, ...plays(group.rows)));
}

// The answers; those of several seats of one play stand in a frame.
function plays(rows) {
  const found = new Map();
  for (const row of rows) {
    const key = row.play ?? row;
    found.set(key, [...(found.get(key) ?? []), row]);
  }
  return [...found.values()].flatMap((own) => {
    const seats = new Set(own.map((row) => row.seat)).size;
    return seats === 1 ? own.map(sibling) : [element("section", { class: "play", "aria-label": "a play" },
      element("p", { class: "what" }, `one play, ${seats} seats`), element("div", { class: "siblings" }, ...own.map(sibling)))];
  });
}

function chips(legendText, field, options, redraw) {
  const buttons = options.map(([value, label, enabled]) => element("button", {
    type: "button", class: "chip", "aria-pressed": String(view[field] === value), disabled: enabled === false,
    onclick: () => { view[field] = value; buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(options[i][0] === value))); redraw(); },
  }, label));
  return element("fieldset", {}, element("legend", {}, legendText), ...buttons);
}

function select(label, field, options) {
  return element("label", {}, `${label} `, element("select", { onchange: (event) => { view[field] = event.target.value; drawReader(); } },
    ...options.map(([value, text]) => element("option", { value }, text))));
}

function buildReader() {
  const reader = document.getElementById("reader");
  if (!reader) return;
  const rows = groups.flatMap((g) => g.rows);
  const count = (outcome) => rows.filter((r) => r.outcome === outcome).length;
  const outcomes = Object.keys(OUTCOMES).filter((o) => o !== "unjudged" || count(o));
  const has = (name) => rows.some((row) => row.tokens && row[name] !== undefined && row[name] !== null);
  if (!has(view.color)) view.color = ["ent", "lp"].find(has) ?? "none";
  const key = element("span", { id: "key" });
  const redraw = () => { key.replaceChildren(...[scaleKey()].filter(Boolean)); drawReader(); };
  reader.replaceChildren(
    element("div", { class: "controls" },
      chips("show", "outcome", [["all", `all ${rows.length}`], ...outcomes.map((o) => [o, `${OUTCOMES[o]} ${o} ${count(o)}`, count(o) > 0])], drawReader),
      select("step", "step", [["all", "all"], ...data.rollouts.steps.map((s) => [String(s), String(s)])]),
      select("order", "sort", [["step", "by step"], ["best", "highest reward"], ["worst", "lowest reward"]]),
      element("label", {}, "search ", element("input", { type: "search", oninput: (event) => { view.text = event.target.value; drawReader(); } }))),
    element("div", { class: "controls" },
      chips("colour tokens by", "color", Object.entries(SCALES).map(([name, scale]) => [name, scale.label, name === "none" || has(name)]), redraw), key),
    element("div", { class: "reader" }, element("ul", { class: "list card", id: "list", "aria-label": "Groups" }), element("div", { class: "card", id: "detail", "aria-live": "polite" })));
  redraw();
}

// ---- page
const dark = matchMedia("(prefers-color-scheme: dark)");
const themeButton = document.getElementById("theme");
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = theme === "dark" ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", `Switch to the ${theme === "dark" ? "light" : "dark"} theme`);
}
setTheme(dark.matches ? "dark" : "light");
themeButton.addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
dark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));

document.getElementById("copy")?.addEventListener("click", async (event) => {
  const code = document.getElementById("command");
  try {
    await navigator.clipboard.writeText(code.textContent);
    event.target.textContent = "Copied";
  } catch {
    // A page opened from a file may have no clipboard; a selection can be copied by hand.
    getSelection().selectAllChildren(code);
    event.target.textContent = "Selected";
  }
  setTimeout(() => { event.target.textContent = "Copy"; }, 1600);
});
document.getElementById("smooth")?.addEventListener("change", drawCurves);
drawPassCurves();
drawCurves();
buildReader();
