"use strict";
// The page of a journal's rounds. `source` gives data: from the page itself, or from the server that follows a journal.

const COLOURS = ["#2f6f9f", "#d9822b", "#4c9a52", "#8e5ea2", "#b3453f", "#5f7f8f", "#a08a2a", "#c06c9a"];
const KIND = { executed: "good", asserted: "good", answered: "good", quiet: "calm", unchanged: "calm", waiting: "calm",
  ended: "calm", held: "mind", vetoed: "mind", undone: "mind", missed: "bad", failed: "bad", "rolled-back": "bad" };
const DETAILED = 60, CELLS = 3000, LISTED = 200, MARGIN = 10;

const $ = (id) => document.getElementById(id);
const percent = (share) => share == null ? "-" : (100 * share).toFixed(1) + "%";
const number = (value) => value == null ? "-" : Number(value).toLocaleString("en", { maximumFractionDigits: 1 });
const colour = (index) => COLOURS[index % COLOURS.length];
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function make(tag, text, more) {
  const element = document.createElement(tag);
  if (text != null) element.textContent = text;
  return Object.assign(element, more);
}

function row(tag, cells, texts = []) {
  const line = make("tr");
  cells.forEach((cell, at) => {
    const box = make(tag, null, tag === "th" ? { scope: "col" } : {});
    if (texts.includes(at)) box.className = "text";
    box.append(cell == null ? "-" : cell);
    line.append(box);
  });
  return line;
}

function table(caption, columns, rows, texts) {
  const made = make("table"), head = make("thead"), body = make("tbody");
  made.append(make("caption", caption), head, body);
  head.append(row("th", columns, texts));
  body.append(...rows.map((cells) => row("td", cells, texts)));
  return made;
}

function embedded(data) {
  const scenes = new Map(data.scenes.map((each) => [each.record, each]));
  return {
    live: false, title: data.title, rounds: data.rounds,
    scene: async (record) => scenes.get(record),
    why: async (record, task) => (data.why[record] || {})[task],
  };
}

function served() {
  const ask = async (path) => {
    const answer = await fetch(path);
    return answer.ok ? answer.json() : undefined;
  };
  return {
    live: true, title: document.title, rounds: [],
    scene: (record) => ask("scene/" + record),
    why: (record, task) => ask("why/" + record + "?task=" + encodeURIComponent(task)),
  };
}

const state = { rounds: [], at: -1, follow: true, scene: null, node: null, task: null, boxes: [] };
let source = null;

function begin() {
  const data = $("data");
  source = data ? embedded(JSON.parse(data.textContent)) : served();
  $("canvas").addEventListener("click", (event) => pick(event.offsetX, event.offsetY));
  window.addEventListener("resize", () => state.scene && draw(state.scene));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.scene && draw(state.scene));
  $("timeline").addEventListener("keydown", walk);
  if (!source.live) return add(source.rounds);
  const events = new EventSource("rounds");
  events.onmessage = (event) => add(JSON.parse(event.data));
  events.onopen = () => { $("live").textContent = "follows the journal"; };
  events.onerror = () => { $("live").textContent = "the server does not answer; it is asked again"; };
}

function add(rounds) {
  const newest = state.rounds.length ? state.rounds[state.rounds.length - 1].record : 0;
  const fresh = rounds.filter((each) => each.record > newest);
  if (!fresh.length) return;
  state.rounds.push(...fresh);
  const list = $("timeline");
  list.append(...fresh.map((each) => tick(each, state.rounds.indexOf(each))));
  chart();
  counts();
  if (state.follow) show(state.rounds.length - 1);
}

function tick(round, at) {
  const share = round.measured ? round.measured.share : 0;
  const said = `Round ${round.round}, ${round.at.slice(11, 19)}, ${round.outcome}` +
    (round.measured ? `, ${percent(share)} between nodes` : "");
  const button = make("button", null, { type: "button", title: said, className: KIND[round.outcome] || "calm" });
  button.setAttribute("aria-label", said);
  button.style.height = Math.round(12 + 74 * share) + "px";
  button.tabIndex = -1;
  button.addEventListener("click", () => { state.follow = at === state.rounds.length - 1; show(at); });
  const item = make("li");
  item.append(button);
  return item;
}

function walk(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const at = Math.min(Math.max(state.at + step, 0), state.rounds.length - 1);
  state.follow = at === state.rounds.length - 1;
  show(at).then(() => $("timeline").children[at].firstChild.focus());
}

async function show(at) {
  const ticks = $("timeline").children, round = state.rounds[at];
  if (state.at >= 0 && ticks[state.at]) mark(ticks[state.at].firstChild, false);
  state.at = at;
  mark(ticks[at].firstChild, true);
  if (state.follow) $("timeline").scrollLeft = $("timeline").scrollWidth;
  head(round);
  const scene = await source.scene(round.record);
  if (state.at !== at) return; // another one was asked for meanwhile
  state.scene = scene && scene.nodes ? scene : null;
  done(round, scene);
  placement(scene);
  if (state.task) explain(state.task);
}

function mark(button, on) {
  button.tabIndex = on ? 0 : -1;
  if (on) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
}

function head(round) {
  const line = $("outcome");
  line.replaceChildren(make("span", `Round ${round.round}, ${round.at.replace("T", " ").replace("Z", " UTC")}: `),
    make("span", round.outcome, { className: "outcome " + (KIND[round.outcome] || "calm") }));
  $("message").textContent = round.message;
  const now = round.measured || {}, then = round.planned || {};
  const pair = (name, form) => now[name] == null && then[name] == null ? null :
    [form(now[name]), then[name] == null ? "" : " \u2192 " + form(then[name])].join("");
  const figures = [["between nodes", pair("share", percent)], ["fullest node", pair("fullest", percent)],
    ["nodes used", pair("nodes", number)], ["tasks that move", then.moves == null ? null : number(then.moves)],
    ["not placed", pair("unplaced", number)], ["where asked", round.asked ? `${round.hits} / ${round.asked}` : null],
    ["scheduler", round.scheduler || null]];
  $("figures").replaceChildren(...figures.filter(([, value]) => value != null).map(([name, value]) => {
    const box = make("div");
    box.append(make("dt", name), make("dd", value));
    return box;
  }));
}

function done(round, scene) {
  const said = [...round.said, ...round.warnings, ...round.reasons.map(([, message]) => message)];
  if (scene && scene.explanation) said.unshift(scene.explanation);
  if (scene) said.push(...scene.notes);
  $("said").replaceChildren(...said.map((text) => make("p", text)));
  const steps = scene ? scene.steps : [];
  $("steps").replaceChildren(steps.length
    ? table("Moves and other steps, as the engine answered", ["step", "of", "result", "answer"], steps, [0, 1, 2, 3])
    : make("p", "Nothing was changed.", { className: "soft" }));
}

function placement(scene) {
  const shown = Boolean(state.scene);
  for (const id of ["canvas", "nodes", "keys"]) $(id).hidden = !shown;
  $("nothing").hidden = shown;
  $("nothing").textContent = scene ? "This round has no plan." : "The placement of this round is not kept.";
  if (!shown) { $("tasks").replaceChildren(); return; }
  draw(state.scene);
  nodes(state.scene);
  if (state.node != null) tasks(state.scene, state.node);
}

// Boxes are nodes and cells are tasks; with many of either, a square is a node, the fuller the darker.
function draw(scene) {
  const canvas = $("canvas"), wide = canvas.clientWidth, scale = window.devicePixelRatio || 1;
  const few = scene.nodes.length <= DETAILED && scene.tasks.after.length <= CELLS;
  const plan = few ? boxes(scene, wide) : squares(scene, wide);
  canvas.width = Math.round(wide * scale);
  canvas.height = Math.round(plan.height * scale);
  canvas.style.height = plan.height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  state.boxes = plan.boxes;
  (few ? drawBoxes : drawSquares)(pen, scene, plan);
  const moving = scene.tasks.after.reduce((sum, to, task) => sum + (to !== scene.tasks.before[task]), 0);
  canvas.setAttribute("aria-label", `${scene.tasks.after.length} tasks on ${scene.nodes.length} nodes; ` +
    `${moving} change their node in the plan. The table below has the same.`);
  keys(scene, few);
}

function held(scene) {
  const lists = scene.nodes.map(() => []), { before, after } = scene.tasks, nowhere = [];
  after.forEach((to, task) => {
    const from = before[task];
    if (from >= 0) lists[from].push([task, from === to ? "stays" : "leaves"]);
    if (to >= 0 && to !== from) lists[to].push([task, "comes"]);
    if (to < 0 && from < 0) nowhere.push([task, "leaves"]);
  });
  return [lists, nowhere];
}

function boxes(scene, wide) {
  const [lists, nowhere] = held(scene), cell = 18, made = [];
  const all = lists.map((tasks, node) => ({ node, tasks }));
  if (nowhere.length) all.push({ node: -1, tasks: nowhere });
  let x = MARGIN, y = MARGIN, high = 0;
  for (const each of all) {
    const columns = Math.max(6, Math.ceil(Math.sqrt(each.tasks.length * 1.8)));
    const width = Math.min(columns * cell + 12, wide - 2 * MARGIN);
    const fit = Math.max(1, Math.floor((width - 12) / cell));
    const height = 42 + Math.max(1, Math.ceil(each.tasks.length / fit)) * cell;
    if (x > MARGIN && x + width > wide - MARGIN) { x = MARGIN; y += high + 26; high = 0; }
    const cells = each.tasks.map(([task, what], at) =>
      ({ task, what, x: x + 6 + (at % fit) * cell, y: y + 38 + Math.floor(at / fit) * cell, size: cell - 3 }));
    made.push({ node: each.node, x, y, width, height, cells });
    x += width + 22;
    high = Math.max(high, height);
  }
  return { boxes: made, height: y + high + MARGIN };
}

function drawBoxes(pen, scene, plan) {
  const ink = style("--ink"), soft = style("--soft"), line = style("--line"), bad = style("--bad");
  const most = Math.max(...scene.flows.map(([, , rate]) => rate), 0);
  for (const [one, other, rate] of scene.flows) {
    const a = plan.boxes[one], b = plan.boxes[other];
    pen.strokeStyle = bad;
    pen.globalAlpha = 0.35;
    pen.lineWidth = Math.max(1, 12 * rate / most);
    pen.beginPath();
    pen.moveTo(a.x + a.width / 2, a.y + a.height / 2);
    pen.lineTo(b.x + b.width / 2, b.y + b.height / 2);
    pen.stroke();
  }
  pen.globalAlpha = 1;
  for (const box of plan.boxes) {
    const node = scene.nodes[box.node];
    pen.fillStyle = style("--card");
    pen.strokeStyle = box.node === state.node ? style("--mark") : line;
    pen.lineWidth = box.node === state.node ? 2.5 : 1.5;
    pen.beginPath();
    pen.rect(box.x, box.y, box.width, box.height);
    pen.fill();
    pen.stroke();
    pen.fillStyle = ink;
    pen.fillText(cut(pen, node ? node.host : "not placed", box.width - 10), box.x + 6, box.y + 15);
    pen.fillStyle = soft;
    if (node) pen.fillText(cut(pen, `CPU ${number(node.after)} of ${number(node.cpu)}`, box.width - 10), box.x + 6, box.y + 30);
    for (const cell of box.cells) drawCell(pen, scene, cell, ink);
  }
}

function drawCell(pen, scene, cell, ink) {
  pen.fillStyle = pen.strokeStyle = colour(scene.tasks.component[cell.task]);
  pen.globalAlpha = cell.what === "leaves" ? 0.3 : 1;
  pen.setLineDash(cell.what === "comes" ? [3, 2] : []);
  pen.lineWidth = 2;
  if (cell.what === "comes") pen.strokeRect(cell.x + 1, cell.y + 1, cell.size - 2, cell.size - 2);
  else pen.fillRect(cell.x, cell.y, cell.size, cell.size);
  pen.globalAlpha = 1;
  pen.setLineDash([]);
  if (name(scene, cell.task) === state.task) {
    pen.strokeStyle = ink;
    pen.strokeRect(cell.x - 1, cell.y - 1, cell.size + 2, cell.size + 2);
  }
}

function squares(scene, wide) {
  const side = scene.nodes.length > 1500 ? 8 : scene.nodes.length > 300 ? 12 : 20, step = side + 2;
  const columns = Math.max(1, Math.floor((wide - 2 * MARGIN) / step));
  const made = scene.nodes.map((_, node) => ({ node, x: MARGIN + (node % columns) * step,
    y: MARGIN + Math.floor(node / columns) * step, width: side, height: side, cells: [] }));
  return { boxes: made, height: 2 * MARGIN + Math.ceil(scene.nodes.length / columns) * step };
}

function drawSquares(pen, scene, plan) {
  const line = style("--line"), bad = style("--bad"), mark = style("--mark");
  for (const box of plan.boxes) {
    const node = scene.nodes[box.node], full = node.cpu ? node.after / node.cpu : 0;
    pen.globalAlpha = 1;
    pen.strokeStyle = box.node === state.node ? style("--ink") : line;
    pen.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
    pen.fillStyle = full > 1 ? bad : mark;
    pen.globalAlpha = full ? 0.15 + 0.85 * Math.min(full, 1) : 0;
    pen.fillRect(box.x, box.y, box.width, box.height);
  }
  pen.globalAlpha = 1;
}

function cut(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(text.slice(0, end) + "\u2026").width > width) end -= 1;
  return text.slice(0, end) + "\u2026";
}

function keys(scene, few) {
  if (!few) {
    $("keys").textContent = "A square is a node: the fuller, the darker; red is beyond its CPU.";
    return;
  }
  const made = scene.components.flatMap((text, at) => {
    const key = make("span", null, { className: "key" });
    key.style.background = colour(at);
    return [key, text];
  });
  $("keys").replaceChildren(...made, make("span", " · pale: leaves, dashed: comes", { className: "soft" }));
}

function pick(x, y) {
  const box = state.boxes.find((each) => x >= each.x && x <= each.x + each.width && y >= each.y && y <= each.y + each.height);
  if (!box || box.node < 0 && !box.cells.length) return;
  if (box.node >= 0) state.node = box.node;
  const cell = box.cells.find((each) => x >= each.x && x <= each.x + each.size && y >= each.y && y <= each.y + each.size);
  if (cell) explain(name(state.scene, cell.task));
  if (state.node != null) tasks(state.scene, state.node);
  draw(state.scene);
}

const name = (scene, task) => scene.components[scene.tasks.component[task]] + "/" + scene.tasks.index[task];

function nodes(scene) {
  const counts = scene.nodes.map(() => 0);
  scene.tasks.after.forEach((node) => { if (node >= 0) counts[node] += 1; });
  const order = scene.nodes.map((_, at) => at).sort((a, b) => filled(scene.nodes[b]) - filled(scene.nodes[a]));
  const rows = order.slice(0, LISTED).map((at) => {
    const node = scene.nodes[at], button = make("button", node.host, { type: "button", title: node.id });
    button.addEventListener("click", () => { state.node = at; tasks(scene, at); draw(scene); });
    const bar = make("meter", null, { min: 0, max: 1, value: Math.min(filled(node), 1) });
    bar.setAttribute("aria-label", "CPU planned");
    return [button, counts[at], number(node.before), number(node.after), number(node.cpu), number(node.cpu - node.after), bar];
  });
  const more = scene.nodes.length - rows.length;
  $("nodes").replaceChildren(table(`Nodes, the fullest first, CPU in points${more > 0 ? `; ${more} more` : ""}`,
    ["node", "tasks", "now", "planned", "has", "free", "filled"], rows));
}

const filled = (node) => node.cpu ? node.after / node.cpu : 0;

function tasks(scene, node) {
  if (!scene.nodes[node]) return;
  const here = [];
  scene.tasks.after.forEach((to, task) => { if (to === node || scene.tasks.before[task] === node) here.push(task); });
  $("of").textContent = `Tasks of ${scene.nodes[node].host}${here.length > LISTED ? `, ${LISTED} of ${here.length}` : ""}`;
  $("tasks").replaceChildren(...here.slice(0, LISTED).map((task) => {
    const text = name(scene, task), item = make("li"), button = make("button", text, { type: "button" });
    const [from, to] = [scene.tasks.before[task], scene.tasks.after[task]];
    button.addEventListener("click", () => explain(text));
    item.append(button, from === to ? "" : to === node ? " comes" : " leaves");
    return item;
  }));
}

async function explain(task) {
  state.task = task;
  const round = state.rounds[state.at], found = await source.why(round.record, task);
  if (state.task !== task || state.rounds[state.at] !== round) return;
  if (state.scene) draw(state.scene);
  if (!found) {
    $("why").replaceChildren(make("p", source.live ? `This round made no plan with ${task}.`
      : `${task}: this page has the reasons of tasks that move in its newest rounds.`));
    return;
  }
  const rows = found.rows.map((each) => [each.node, each.fits ? "yes" : "no", signed(each.traffic, number),
    signed(each.fullest, percent), signed(each.restarts, number), each.reasons.join("; ")]);
  $("why").replaceChildren(make("p", found.sentence), table(
    `Each node in its stead; traffic in ${found.unit}${found.more ? `; ${found.more} more nodes` : ""}`,
    ["node", "fits", "traffic between", "fullest", "restarts", "short or in the way"], rows, [0, 5]));
}

const signed = (value, form) => (value > 0 ? "+" : "") + form(value);

// Measured and planned shares over the rounds: a plan's point is beside the measurement that follows it.
function chart() {
  const wide = 640, high = 150, left = 44, shown = state.rounds.slice(-LISTED);
  const x = (at) => left + (wide - left - 8) * (shown.length > 1 ? at / (shown.length - 1) : 0.5);
  const y = (share) => 8 + (high - 26) * (1 - share);
  const made = svg("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img" });
  const label = "Share of the traffic between nodes by round, as measured and as the plan before it promised";
  made.setAttribute("aria-label", label);
  for (const share of [0, 0.5, 1]) {
    made.append(svg("line", { x1: left, x2: wide, y1: y(share), y2: y(share), stroke: style("--line") }));
    made.append(svg("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end", "font-size": 11, fill: style("--soft") },
      100 * share + "%"));
  }
  const measured = [], planned = [];
  shown.forEach((each, at) => {
    if (each.measured) measured.push([x(at), y(each.measured.share)]);
    const told = each.outcome === "unchanged" && each.forecast != null; // in shadow
    if (each.planned && (told || ["executed", "asserted", "missed"].includes(each.outcome)) && at + 1 < shown.length)
      planned.push([x(at + 1), y(each.forecast ?? each.planned.share)]);
  });
  const points = (all) => all.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");
  made.append(svg("polyline", { points: points(measured), fill: "none", stroke: style("--mark"), "stroke-width": 2 }));
  for (const [a, b] of planned)
    made.append(svg("circle", { cx: a, cy: b, r: 3.5, fill: "none", stroke: style("--bad"), "stroke-width": 1.5 }));
  $("chart").replaceChildren(made);
}

function svg(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text != null) made.textContent = text;
  return made;
}

function counts() {
  const found = new Map();
  for (const round of state.rounds)
    for (const [code, message] of round.reasons) {
      const [count] = found.get(code) || [0];
      found.set(code, [count + 1, message]);
    }
  const rows = [...found].sort((a, b) => b[1][0] - a[1][0]).map(([code, [count, message]]) => [code, count, message]);
  $("counts").replaceChildren(rows.length
    ? table("Why plans were not whole, or less than they might be", ["reason", "rounds", "the last one"], rows, [0, 2])
    : make("p", "Every plan was whole.", { className: "soft" }));
}

begin();
