#include "tools/commands/plan_picture_script.h"

namespace reprise {

const char kPlanPictureStyle[] = R"css(
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 8px 0; }
.legend i { display: inline-block; width: 12px; height: 12px;
  margin-right: 5px; vertical-align: -1px; border-radius: 2px; }
.legend i.line { height: 0; border-radius: 0; vertical-align: 3px; width: 18px; }
#frame { position: relative; height: 66vh; min-height: 420px; }
#picture { position: absolute; width: 100%; height: 100%; cursor: crosshair; }
#tip { position: absolute; pointer-events: none; display: none; z-index: 1;
  background: #fffffff5; border: 1px solid #8795a4; border-radius: 5px;
  padding: 6px 9px; font-size: 12.5px; max-width: 460px;
  box-shadow: 0 2px 8px #0003; overflow-wrap: anywhere; }
#tip b { font-size: 13px; }
.tools { display: flex; flex-wrap: wrap; gap: 6px 18px; align-items: center; }
button { font: inherit; padding: 1px 10px; }
)css";

// Hit testing walks the buffers from the last one drawn to the first.
const char kPlanPictureScript[] = R"js(
'use strict';
const plan = JSON.parse(document.getElementById('plan').textContent);
const canvas = document.getElementById('picture');
const tip = document.getElementById('tip');
const toScale = document.getElementById('to-scale');
const pen = canvas.getContext('2d');
const [NAME, CLASS, OFFSET, BYTES, BEGIN, END] = [0, 1, 2, 3, 4, 5];
const left = 84, right = 16, top_ = 40, bottom = 64, strip = 46, band = 9;
const roleNames = ['forward', 'backward', 'update'];
const roleColors = ['#c9d3dc', '#7b8a99', '#3f4c59'];
const replayColor = '#d6216b', liveColor = '#111', boundColor = '#c4221f';
let width = 0, height = 0, first = 0, last = plan.steps.length;
// [lowest, highest] byte shown; null: all of them.
let view = null;
let drag = null, pointer = null;

function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let u = 0;
  while (bytes >= 1023.5 && u < 4) { bytes /= 1024; ++u; }
  const digits = u === 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return bytes.toFixed(digits) + ' ' + units[u];
}
const count = (n) => n.toLocaleString('en-US');
const plotWidth = () => width - left - right;
const plotHeight = () => height - top_ - bottom;
const x = (step) => left + (step - first) / (last - first) * plotWidth();
const stepAt = (px) => first + (px - left) / plotWidth() * (last - first);
const highest = Math.max(plan.end_bytes, plan.arena_bytes, 1);
// The persistent segment gets a strip of its own, unless it is to scale: what
// changes is above it.
function stripHeight() {
  if (plan.persistent_bytes === 0) return 0;
  const scaled = plan.persistent_bytes / highest * plotHeight();
  return toScale.checked || plan.persistent_bytes >= highest
      ? scaled : Math.min(scaled, strip);
}
function y(bytes) {
  const base = height - bottom;
  if (view) {
    return base - (bytes - view[0]) / (view[1] - view[0]) * plotHeight();
  }
  const s = stripHeight();
  if (bytes <= plan.persistent_bytes) {
    return base - (s === 0 ? 0 : bytes / plan.persistent_bytes * s);
  }
  return base - s - (bytes - plan.persistent_bytes) /
      (highest - plan.persistent_bytes) * (plotHeight() - s);
}
function byteAt(py) {
  const up = height - bottom - py;
  if (view) return view[0] + up / plotHeight() * (view[1] - view[0]);
  const s = stripHeight();
  if (up < s) return up / s * plan.persistent_bytes;
  return plan.persistent_bytes + (up - s) / (plotHeight() - s) *
      (highest - plan.persistent_bytes);
}
const fitted = new Map();
function fit(text, room) {
  const key = text + '\0' + Math.round(room);
  if (!fitted.has(key)) {
    // Of a gradient, what it is of matters.
    let cut = text.replace('__grad/', '\u2202 ');
    while (cut && pen.measureText(cut).width > room) {
      cut = cut.length > 5 ? cut.slice(0, -3) + '\u2026' : '';
    }
    fitted.set(key, cut);
  }
  return fitted.get(key);
}
function niceStep(span, most, bases) {
  for (let unit = 1; ; unit *= bases[bases.length - 1]) {
    for (const b of bases) if (span / (unit * b) <= most) return unit * b;
  }
}

function drawBuffers() {
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  pen.textBaseline = 'middle';
  pen.textAlign = 'left';
  for (const b of plan.buffers) {
    if (b[END] <= first || b[BEGIN] >= last) continue;
    const x0 = Math.max(x(b[BEGIN]), left);
    const x1 = Math.min(x(b[END]), width - right);
    const y0 = Math.max(y(b[OFFSET] + b[BYTES]), top_);
    const y1 = Math.min(y(b[OFFSET]), height - bottom);
    if (y0 >= y1) continue;
    const w = Math.max(x1 - x0, 0.75), h = Math.max(y1 - y0, 0.75);
    pen.fillStyle = plan.classes[b[CLASS]].color;
    pen.fillRect(x0, y0, w, h);
    if (w > 4 && h > 5) {
      pen.strokeStyle = '#ffffffcc';
      pen.lineWidth = 1;
      pen.strokeRect(x0 + 0.5, y0 + 0.5, w - 1, h - 1);
    }
    if (w > 20 && h > 13) {
      pen.fillStyle = plan.classes[b[CLASS]].dark ? '#fff' : '#10202f';
      const text = fit(plan.names[b[NAME]], w - 8);
      if (text) pen.fillText(text, x0 + 4, (y0 + y1) / 2);
    }
  }
}
function drawLive() {
  const path = () => {
    pen.beginPath();
    for (let s = Math.floor(first); s < Math.ceil(last); ++s) {
      const here = y(plan.live[s]);
      pen.lineTo(Math.max(x(s), left), here);
      pen.lineTo(Math.min(x(s + 1), width - right), here);
    }
    pen.stroke();
  };
  pen.lineJoin = 'round';
  pen.strokeStyle = '#ffffffd0';
  pen.lineWidth = 4;
  path();
  pen.strokeStyle = liveColor;
  pen.lineWidth = 1.75;
  path();
}
function line(x0, y0, x1, y1, color, dash) {
  pen.setLineDash(dash);
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
  pen.setLineDash([]);
}
function drawAxes() {
  const base = height - bottom, s = stripHeight();
  pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
  pen.strokeStyle = '#5b6875';
  pen.lineWidth = 1;
  pen.strokeRect(left - 0.5, top_ - 0.5, plotWidth() + 1, plotHeight() + 1);
  // Bytes: powers of two, so that labels are short.
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  const broken = !view && s < plan.persistent_bytes / highest * plotHeight() - 1;
  const low = view ? view[0] : broken ? plan.persistent_bytes : 0;
  const high = view ? view[1] : highest;
  const tick = niceStep(high - low, Math.max(3, plotHeight() / 55), [1, 2]);
  const free = [];
  const label = (bytes) => {
    const at = y(bytes);
    if (free.some((other) => Math.abs(other - at) < 13)) return;
    free.push(at);
    pen.fillStyle = '#1d2733';
    pen.fillText(size(bytes), left - 9, at);
    pen.fillRect(left - 6, at - 0.5, 6, 1);
  };
  if (!view) label(0);
  if (broken) label(plan.persistent_bytes);
  for (let b = Math.ceil(low / tick) * tick; b <= high; b += tick) label(b);
  if (broken) {
    // The axis is broken where the scale changes.
    pen.strokeStyle = '#1d2733';
    for (const dy of [-3, 3]) {
      pen.beginPath();
      pen.moveTo(left - 6, base - s / 2 + dy + 3);
      pen.lineTo(left + 6, base - s / 2 + dy - 3);
      pen.stroke();
    }
  }
  pen.save();
  pen.translate(13, top_ + plotHeight() / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = 'center';
  pen.fillStyle = '#5b6875';
  pen.fillText('arena offset', 0, 0);
  pen.restore();
  // Steps.
  pen.textBaseline = 'top';
  pen.textAlign = 'center';
  const step = niceStep(last - first, Math.max(3, plotWidth() / 70), [1, 2, 5, 10]);
  for (let t = Math.ceil(first / step) * step; t < last; t += step) {
    const at = x(t + 0.5);
    pen.fillStyle = '#1d2733';
    pen.fillRect(at - 0.5, base + 2 * band + 6, 1, 4);
    pen.fillText(count(t), at, base + 2 * band + 12);
  }
  pen.fillStyle = '#5b6875';
  pen.fillText('step', left + plotWidth() / 2, base + 2 * band + 27);
  // Phases, and under them the replayed steps.
  for (let t = Math.floor(first); t < Math.ceil(last); ++t) {
    const [node, run] = plan.steps[t];
    const x0 = Math.max(x(t), left), x1 = Math.min(x(t + 1), width - right);
    pen.fillStyle = roleColors[plan.roles[node]];
    pen.fillRect(x0, base + 3, x1 - x0 + 0.3, band);
    if (run > 0) {
      pen.fillStyle = replayColor;
      pen.fillRect(x0, base + band + 4, Math.max(x1 - x0, 1), band);
    }
  }
}
function drawBounds() {
  const bound = y(plan.peak_live_bytes), arena = y(plan.end_bytes);
  line(left, arena, width - right, arena, '#1d2733', []);
  line(left, bound, width - right, bound, boundColor, [7, 4]);
  if (plan.arena_bytes > plan.end_bytes) {
    const all = y(plan.arena_bytes);
    line(left, all, width - right, all, '#8795a4', [2, 3]);
  }
}
function drawPeak() {
  const peak = x(plan.peak_step + 0.5);
  pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
  if (peak > left && peak < width - right) {
    line(peak, top_, peak, height - bottom, boundColor, [2, 3]);
    pen.textBaseline = 'bottom';
    pen.fillStyle = boundColor;
    const text = 'peak: step ' + count(plan.peak_step) + ', ' +
        plan.nodes[plan.steps[plan.peak_step][0]];
    const room = pen.measureText(text).width / 2;
    pen.textAlign = 'center';
    pen.fillText(text, Math.min(Math.max(peak, left + room),
                                width - right - room), top_ - 5);
  }
}
function draw() {
  const ratio = window.devicePixelRatio || 1;
  width = canvas.clientWidth;
  height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = '#f4f6f8';
  pen.fillRect(left, top_, plotWidth(), plotHeight());
  drawBuffers();
  pen.save();
  pen.beginPath();
  pen.rect(left, top_ - 1, plotWidth(), plotHeight() + 2);
  pen.clip();
  drawLive();
  drawBounds();
  pen.restore();
  drawPeak();
  drawAxes();
  if (drag && pointer) {
    pen.fillStyle = '#2f6fbf33';
    pen.fillRect(drag[0], drag[1], pointer[0] - drag[0], pointer[1] - drag[1]);
  }
  document.getElementById('range').textContent =
      first > 0 || last < plan.steps.length
      ? 'steps ' + count(Math.floor(first)) + ' to ' + count(Math.ceil(last) - 1)
      : 'all ' + count(plan.steps.length) + ' steps';
}
function zoom(from, to) {
  const all = plan.steps.length, least = Math.min(4, all);
  if (to - from < least) {
    const middle = (from + to) / 2;
    from = middle - least / 2;
    to = middle + least / 2;
  }
  if (to - from >= all) { from = 0; to = all; }
  if (from < 0) { to -= from; from = 0; }
  if (to > all) { from -= to - all; to = all; }
  first = Math.max(from, 0);
  last = Math.min(to, all);
  draw();
}
function hit(px, py) {
  for (let i = plan.buffers.length - 1; i >= 0; --i) {
    const b = plan.buffers[i];
    if (px < x(b[BEGIN]) || px >= Math.max(x(b[END]), x(b[BEGIN]) + 1)) continue;
    if (py <= y(b[OFFSET]) && py >= y(b[OFFSET] + b[BYTES])) return b;
  }
  return null;
}
function row(parent, text, bold) {
  const element = document.createElement(bold ? 'b' : 'div');
  element.textContent = text;
  parent.appendChild(element);
}
function showTip(event) {
  const box = canvas.getBoundingClientRect();
  const px = event.clientX - box.left, py = event.clientY - box.top;
  const t = Math.floor(stepAt(px));
  tip.style.display = 'none';
  if (px < left || px > width - right || py < top_ || t < 0 ||
      t >= plan.steps.length) return;
  tip.replaceChildren();
  const b = py < height - bottom ? hit(px, py) : null;
  if (b) {
    row(tip, plan.names[b[NAME]], true);
    row(tip, plan.classes[b[CLASS]].name.replace('_', ' ') + ', ' +
        size(b[BYTES]) + ' (' + count(b[BYTES]) + ' bytes)');
    row(tip, 'offset ' + count(b[OFFSET]) + ', steps [' + count(b[BEGIN]) +
        ', ' + count(b[END]) + ')');
  }
  const [node, run] = plan.steps[t];
  row(tip, 'step ' + count(t) + ': ' + plan.nodes[node] + ', ' +
      roleNames[plan.roles[node]] + (run > 0 ? ', run again' : ''));
  row(tip, size(plan.live[t]) + ' alive at this step');
  tip.style.display = 'block';
  tip.style.left = Math.max(0, Math.min(px + 14, width - tip.offsetWidth - 4)) +
      'px';
  tip.style.top = (py + 18 + tip.offsetHeight > height
      ? Math.max(0, py - tip.offsetHeight - 10) : py + 18) + 'px';
}
const place = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
canvas.addEventListener('mousemove', (event) => {
  pointer = place(event);
  showTip(event);
  if (drag) draw();
});
canvas.addEventListener('mouseleave', () => { tip.style.display = 'none'; });
canvas.addEventListener('mousedown', (event) => { drag = place(event); });
window.addEventListener('mouseup', (event) => {
  if (!drag) return;
  const [fromX, toX] = [drag[0], place(event)[0]].sort((a, b) => a - b);
  const [fromY, toY] = [drag[1], place(event)[1]].sort((a, b) => a - b);
  drag = null;
  // A flat stroke means steps, an upright one bytes.
  if (toY - fromY > 12) {
    const lowest = Math.max(byteAt(toY), 0);
    view = [lowest, Math.max(Math.min(byteAt(fromY), highest), lowest + 64)];
  }
  if (toX - fromX > 12) zoom(stepAt(fromX), stepAt(toX)); else draw();
});
function whole() {
  view = null;
  zoom(0, plan.steps.length);
}
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  const at = stepAt(event.clientX - canvas.getBoundingClientRect().left);
  const factor = event.deltaY > 0 ? 1.25 : 0.8;
  zoom(at - (at - first) * factor, at + (last - at) * factor);
}, { passive: false });
canvas.addEventListener('dblclick', whole);
document.getElementById('whole').addEventListener('click', whole);
toScale.addEventListener('change', () => {
  view = null;
  draw();
});
new ResizeObserver(draw).observe(canvas);
)js";

}  // namespace reprise
