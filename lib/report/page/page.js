// The charts of a page: they share one time axis, zoom and move together, and tell their values at the pointer in one place. Each is
// drawn as SVG with the classes of the still pictures. The numbers are in the element "data", as page_data.c describes them. Names come
// from elsewhere: they are only ever set as text.
'use strict';
(() => {
const ROWS = 1500;              // of a chart at most; more than there are pixels tell nothing
const LANE = 18, STRIP = 16, SHADES = 16, OVERVIEW = 40;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

const source = document.getElementById('data');
let data = source && JSON.parse(source.textContent);
let charts = data ? data.charts : [];
for (const [chart, line, text] of data ? data.samples : []) charts[chart].lines[line].samples = text;
let tracks = [];                // one for each chart, as drawn
let whole = [0, 1], shown = [0, 1];
let plot = {left: 60, width: 600};
let area, cross, selection, readout, depth;

// ---- words and numbers ----

function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
}

function digits(value) {
    const size = Math.abs(value);
    if (size >= 100 || size === 0) return value.toFixed(0);
    return Number(value.toPrecision(3)).toString();
}

function scaled(value, steps) {
    let [factor, name] = steps[0];
    for (const [f, n] of steps) if (Math.abs(value) >= f * 0.9995) [factor, name] = [f, n];
    return digits(value / factor) + ' ' + name;
}

const BYTES = [[1, 'B'], [1e3, 'kB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB'], [1e15, 'PB']];
const UNITS = {bytes: 1, kilobytes: 1e3, megabytes: 1e6, gigabytes: 1e9, terabytes: 1e12};
const SECONDS = {seconds: 1, us: 1e-6, microseconds: 1e-6, milliseconds: 1e-3};

function worded(chart, value) {
    if (value === null || !isFinite(value)) return 'n/a';
    if (UNITS[chart.unit]) return scaled(value * UNITS[chart.unit], BYTES);
    if (chart.unit === 'megabytes a second') return scaled(value * 1e6, BYTES) + '/s';
    if (chart.unit === 'watts') return scaled(value, [[1e-3, 'mW'], [1, 'W'], [1e3, 'kW']]);
    if (chart.unit === 'percent') return digits(value) + ' %';
    return digits(value) + (chart.unit ? ' ' + chart.unit : '');
}

// 0:31:12, with as many decimals as `step` (seconds) needs.
function clock(seconds, step) {
    const decimals = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
    const sign = seconds < 0 ? '-' : '';
    const rounded = Math.abs(Number(seconds.toFixed(decimals)));
    const days = Math.floor(rounded / 86400), hours = Math.floor(rounded / 3600) % 24;
    const minutes = Math.floor(rounded / 60) % 60, rest = (rounded % 60).toFixed(decimals);
    const last = rest.padStart(decimals ? decimals + 3 : 2, '0');
    if (rounded < 60) return sign + rest + ' s';
    const front = days ? `${days}d ${hours}:${String(minutes).padStart(2, '0')}` : hours ? `${hours}:${String(minutes).padStart(2, '0')}` : minutes;
    return `${sign}${front}:${last}`;
}

function timeStep(span, count) {
    const rough = span / count;
    if (rough < 1) return niceStep(span, count);
    return STEPS.find(step => step >= rough) || Math.ceil(rough / 86400) * 86400;
}

function niceStep(span, count) {
    const power = 10 ** Math.floor(Math.log10(span / count));
    return power * [1, 2, 5, 10].find(lead => lead * power >= span / count * 0.9999);
}

function timeTicks(from, to, width) {
    const step = timeStep(to - from, Math.max(2, Math.floor(width / 90)));
    const ticks = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to; i++) ticks.push({v: i * step, label: clock(i * step, step)});
    return ticks;
}

// ---- numbers of the page: see page_data.c ----

function bytesOf(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

async function words(base64, width) {
    const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream('deflate'));
    const plane = new Uint8Array(await new Response(stream).arrayBuffer());
    const count = plane.length / width, word = new Int32Array(count);
    let before = 0;
    for (let i = 0; i < count; i++) {
        let folded = 0;
        for (let k = 0; k < width; k++) folded |= plane[k * count + i] << 8 * k;
        before = (before + ((folded >>> 1) ^ -(folded & 1))) | 0;
        word[i] = before;
    }
    return word;
}

function valuesOf(line, word, from, count) {
    const value = new Float32Array(count);
    for (let i = 0; i < count; i++) value[i] = word[from + i] === 4095 ? NaN : line.least + word[from + i] * line.step;
    return value;
}

async function timesOf(course) {
    if (course.times) return course.times;
    const delta = await words(course.time, 4), times = new Float64Array(delta.length);
    let sum = 0;
    for (let i = 0; i < delta.length; i++) times[i] = (sum += delta[i] >>> 0) * course.quantum;
    return course.times = times;
}

// The spans of a line, or all there is of it.
async function loadFirst(line, factor) {
    if (line.x) {
        const y = Float64Array.from(line.y, value => value === null ? NaN : value);
        line.coarse = {x: Float64Array.from(line.x, value => value * factor), least: y, mean: y, most: y};
        return;
    }
    const course = data.courses[line.course];
    if (line.spans === undefined) {
        await loadSamples(line);
        line.coarse = line.fine;
        return;
    }
    const word = await words(line.spans, 2), count = course.spans;
    if (!course.middles) course.middles = Float64Array.from({length: count}, (_, i) => (i + 0.5) * course.span);
    line.coarse = {x: course.middles, least: valuesOf(line, word, 0, count), mean: valuesOf(line, word, count, count),
                   most: valuesOf(line, word, 2 * count, count), mayHaveHoles: course.seen < 4 * count};
}

async function loadSamples(line) {
    const word = await words(line.samples, 2), y = valuesOf(line, word, 0, word.length);
    line.fine = {x: await timesOf(data.courses[line.course]), least: y, mean: y, most: y};
}

function place(list, value, xOf = x => x) {     // of the first at or behind `value`
    let low = 0, high = list.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (xOf(list[middle]) < value) low = middle + 1; else high = middle;
    }
    return low;
}

// Samples where the spans are too few for the window, and there are any. They are unpacked when they are first wanted.
function levelOf(line, from, to) {
    const coarse = line.coarse;
    if (line.fine && line.fine !== coarse && place(coarse.x, to) - place(coarse.x, from) < ROWS) return line.fine;
    if (!line.fine && line.samples && !line.isLoading && place(coarse.x, to) - place(coarse.x, from) < ROWS) {
        line.isLoading = true;
        loadSamples(line).then(() => show(shown));
    }
    return coarse;
}

// Least, mean and greatest value of each of `count` parts of the window, and one value beyond each end.
function cut(line, from, to, count) {
    const level = levelOf(line, from, to), width = (to - from) / count;
    const first = Math.max(0, place(level.x, from) - 1), end = Math.min(level.x.length, place(level.x, to) + 1);
    const parts = new Map();
    for (let i = first; i < end; i++) {
        const number = Math.floor((level.x[i] - from) / width);
        let part = parts.get(number);
        if (!part) parts.set(number, part = {x: level.x[i], least: Infinity, sum: 0, most: -Infinity, count: 0, last: 0});
        part.last = level.x[i];
        if (isNaN(level.mean[i])) continue;
        part.count++;
        part.sum += level.mean[i];
        if (level.least[i] < part.least) part.least = level.least[i];
        if (level.most[i] > part.most) part.most = level.most[i];
    }
    parts.mayHaveHoles = level.mayHaveHoles;
    return parts;
}

function rowsOf(chart, from, to) {
    const count = Math.max(200, Math.min(ROWS, Math.round(plot.width)));
    const cuts = chart.lines.map(line => cut(line, from, to, count));
    const numbers = [...new Set(cuts.flatMap(parts => [...parts.keys()]))].sort((a, b) => a - b);
    const rows = numbers.map(number => {
        const middle = cuts.map(parts => parts.get(number)).find(part => part);
        return [(middle.x + middle.last) / 2, ...cuts.map(parts => {
            const part = parts.get(number);
            if (!part) return [null, null, null];
            if (!part.count) return parts.mayHaveHoles ? [null, null, null] : [NaN, NaN, NaN];
            return [part.least, chart.peaks ? part.most : part.sum / part.count, part.most];
        })];
    });
    return rows.length ? rows : [[from, ...chart.lines.map(() => [null, null, null])]];
}

// ---- tracks: charts, strips and lanes ----

const LEFT = 60, RIGHT = 10;    // of the plot: room for the numbers of the y axis, and for the last one of the x axis
const LEGEND_KEY = 16, LEGEND_ROW = 16;     // of a saved picture: what stands before a name, and the height of a row
const measure = document.createElement('canvas').getContext('2d');
measure.font = '12px system-ui, sans-serif';
const SVG = Object.assign(document.createElement('p'), {innerHTML: '<svg></svg>'}).firstChild.namespaceURI;

function lineColour(number) {
    return `var(--c${number % 6})`;
}

function add(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, typeof value === 'number' ? Math.round(value * 10) / 10 : value);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
}

// An empty picture in the place of the one before.
function pictureOf(track, height) {
    const picture = track.picture = track.picture || add(track.box, 'svg', {class: 'drawn'});
    picture.setAttribute('width', track.box.clientWidth);
    picture.setAttribute('height', height);
    picture.replaceChildren();
    return picture;
}

function layOut() {
    plot = {left: LEFT, width: Math.max(area.clientWidth - LEFT - RIGHT, 100)};
}

function xOf(time) {
    return plot.left + (time - shown[0]) / (shown[1] - shown[0]) * plot.width;
}

function timeOf(x) {
    return shown[0] + (x - plot.left) / plot.width * (shown[1] - shown[0]);
}

function fitted(text, width) {
    if (measure.measureText(text).width <= width) return text;
    let length = text.length;
    while (length > 1 && measure.measureText(text.slice(0, length) + '…').width > width) length--;
    return length > 1 ? text.slice(0, length) + '…' : '';
}

function drawNames(picture, chart, height) {
    chart.lines.forEach((line, i) => add(picture, 'text', {x: 0, y: (i + 0.5) * height + 3}, fitted(line.name, plot.left - 6)));
}

function drawLanes(track) {
    const {chart} = track, picture = pictureOf(track, chart.lines.length * LANE + 4), until = new Float64Array(chart.lines.length).fill(-1);
    drawNames(picture, chart, LANE);
    for (const [name, from, to, lane] of chart.bands) {
        if (to < shown[0] || from > shown[1]) continue;
        const left = Math.max(xOf(from), plot.left), width = Math.max(Math.min(xOf(to), plot.left + plot.width) - left, 1);
        if (left + width <= until[lane]) continue;
        until[lane] = left + width;
        add(picture, 'rect', {class: `fill${chart.colours.get(name) % 6}`, x: left, y: lane * LANE + 1, width: Math.max(width - 0.5, 0.7), height: LANE - 2});
        if (width > 24) add(picture, 'text', {class: 'in', x: left + 3, y: lane * LANE + 13}, fitted(name, width - 6));
    }
}

// What has one shade is one rectangle.
function drawStrips(track) {
    const {chart} = track, picture = pictureOf(track, chart.lines.length * STRIP + 4), count = Math.max(1, Math.round(plot.width));
    drawNames(picture, chart, STRIP);
    chart.lines.forEach((line, number) => {
        const parts = cut(line, shown[0], shown[1], count);
        let value = NaN, shade = 0, begin = 0;
        for (let i = 0; i <= count; i++) {
            const part = parts.get(i);
            if (part) value = part.count ? part.sum / part.count : NaN;
            const next = i === count || isNaN(value) ? 0 : Math.round(Math.min(Math.max(value / 100, 0), 1) * SHADES);
            if (i < count && next === shade) continue;
            if (shade) add(picture, 'rect', {class: 'strip', x: plot.left + begin, y: number * STRIP, width: i - begin, height: STRIP - 2, opacity: `${shade / SHADES}`});
            shade = next;
            begin = i;
        }
    });
}

function topOf(chart) {
    let most = 0;
    for (const line of chart.lines)
        for (const value of line.coarse.most) if (value > most) most = value;
    chart.most = most;
    if (chart.limit && chart.limit.value <= most * 2.5) most = Math.max(most, chart.limit.value);
    const least = Math.min(0, ...chart.lines.map(line => line.coarse.least.reduce((a, b) => b < a ? b : a, 0)));
    const room = chart.peaks ? 0.2 : 0.08;   // the label of a peak stands above it
    chart.range = [least, most > least ? most + (most - least) * room : least + 1];
}

// The greatest values of the lines that tell it, each of which may be one sample only.
function peaksOf(chart) {
    const lines = chart.peaks ? chart.alike ? chart.lines : chart.lines.slice(0, 1) : [];
    return lines.map((line, i) => peakOf(line.coarse, i)).filter(Boolean);
}

function peakOf(line, number) {
    let at = -1;
    for (let i = 0; i < line.most.length; i++) if (!isNaN(line.most[i]) && (at < 0 || line.most[i] > line.most[at])) at = i;
    return at < 0 ? null : {x: line.x[at], y: line.most[at], line: number};
}

function limitText(chart) {
    return chart.unit === 'cores' ? `${digits(chart.limit.value)} cores` : `${chart.limit.name} ${worded(chart, chart.limit.value)}`;
}

// The dot is at a sample; between two there may have been more. Which run a line is stands in the legend.
function peakText(chart, value, line) {
    const sample = worded(chart, value), peak = worded(chart, chart.peak), name = chart.lines[line].name.replace(/ \([^()]* of \d+ runs\)$/, '');
    const whose = chart.alike ? (name.length > 20 ? name.slice(0, 19) + '\u2026' : name) + ': ' : '';
    return `${whose}largest sample ${sample}` + (chart.peak > value && peak !== sample ? `, peak ${peak}` : '');
}

// Whether a line runs through a label whose letters stand on `base`.
function isCrossed(track, yOf, left, right, base) {
    return track.chart.lines.some((_, line) => {
        let before = null;
        for (const row of track.rows) {
            const value = row[line + 1][1];
            if (value === null || isNaN(value)) continue;
            const here = [xOf(row[0]), yOf(value)], from = before || here;
            const heights = [left, right].map(x => from[1] + (here[1] - from[1]) * (Math.min(Math.max(x, from[0]), here[0]) - from[0]) / (here[0] - from[0] || 1));
            if (here[0] >= left && from[0] <= right && Math.max(...heights) > base - 11 && Math.min(...heights) < base + 4) return true;
            before = here;
        }
        return false;
    });
}

// Above the dot, or where neither another label nor a line is.
function labelPlace(track, yOf, bottom, taken, x, y, width) {
    const within = left => Math.min(Math.max(left, plot.left + 2), plot.left + plot.width - width - 2);
    const lefts = [x - width / 2, x + 8, x - width - 8].map(within), places = [y - 8, y - 21, y + 17, y + 30, 11, 24].flatMap(base => lefts.map(left => ({left, base})));
    const free = places.filter(({left, base}) => base >= 11 && base < bottom - 2 &&
        !taken.some(other => Math.abs(other.base - base) < 12 && left < other.right + 4 && other.left < left + width + 4));
    return free.find(({left, base}) => !isCrossed(track, yOf, left, left + width, base)) || free[0] || {left: within(x - width / 2), base: Math.max(y - 8, 11)};
}

function drawPeaks(track, picture, yOf, bottom) {
    const taken = [];
    for (const peak of peaksOf(track.chart)) {
        if (peak.x < shown[0] || peak.x > shown[1]) continue;
        const x = xOf(peak.x), y = yOf(peak.y), words = peakText(track.chart, peak.y, peak.line), width = measure.measureText(words).width;
        const {left, base} = labelPlace(track, yOf, bottom, taken, x, y, width), style = track.chart.alike ? `fill: ${lineColour(peak.line)}` : '';
        taken.push({base, left, right: left + width});
        add(picture, 'circle', {class: 'peak', cx: x, cy: y, r: 4, style});
        add(picture, 'text', {class: 'label', x: left, y: base, style}, words);
    }
}

function valueTicks(chart, from, to, pixels) {
    const factor = UNITS[chart.unit] || 1, step = niceStep((to - from) * factor, Math.max(2, Math.floor(pixels / 32))) / factor;
    const ticks = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to; i++) ticks.push({v: i * step, label: worded(chart, i * step).replace(/ cores$/, '')});
    return ticks;
}

// A line, and the band from the least to the greatest value of each of its points.
function drawLine(plane, rows, number, yOf) {
    let line = '', band = '', upper = [], lower = [], pen = 'M', before = NaN, way = 0;
    const end = () => {
        if (upper.length > 1) band += `M${upper.join('L')}L${lower.reverse().join('L')}Z`;
        [upper, lower, pen, before] = [[], [], 'M', NaN];
    };
    for (const row of rows) {
        const [least, middle, most] = row[number + 1];
        if (middle === null) continue;
        if (isNaN(middle)) { end(); continue; }
        const x = xOf(row[0]).toFixed(1), y = yOf(middle);
        line += `${pen}${x} ${y.toFixed(1)}${pen === 'M' ? 'h0' : ''}`;
        upper.push(`${x} ${yOf(most).toFixed(1)}`);
        lower.push(`${x} ${yOf(least).toFixed(1)}`);
        way += Math.abs(y - before) || 0;
        [pen, before] = ['L', y];
    }
    end();
    if (band) add(plane, 'path', {class: `range fill${number % 6}`, d: band});
    const path = add(plane, 'path', {class: `line${number % 6}`, d: line});
    if (way > plot.width) path.style.strokeDasharray = 'none';      // dashes of a line that goes up and down are not seen, and take long
}

function drawBand(plane, name, from, to, height) {
    const left = xOf(Math.max(from, shown[0]));
    add(plane, 'rect', {class: name, x: left, width: Math.max(xOf(Math.min(to, shown[1])) - left, 1), height});
}

function drawLines(track) {
    const {chart} = track, height = track.box.clientHeight, bottom = height - 18, [least, most] = chart.range, {limit} = chart;
    const picture = pictureOf(track, height), right = plot.left + plot.width;
    const yOf = value => bottom - (value - least) / (most - least) * (bottom - 2);
    track.rows = rowsOf(chart, ...shown);
    for (const {v, label} of valueTicks(chart, least, most, bottom)) {
        add(picture, 'path', {class: 'grid', d: `M${plot.left} ${yOf(v).toFixed(1)}H${right}`});
        add(picture, 'text', {x: plot.left - 4, y: yOf(v) + 4, 'text-anchor': 'end'}, label);
    }
    for (const {v, label} of timeTicks(...shown, plot.width)) add(picture, 'text', {x: xOf(v), y: height - 4, 'text-anchor': 'middle'}, label);
    const plane = add(picture, 'svg', {x: plot.left, width: plot.width, height: bottom, viewBox: `${plot.left} 0 ${plot.width} ${bottom}`});
    for (const [name, from, to] of chart.bands)
        if (to >= shown[0] && from <= shown[1]) drawBand(plane, `fill${(chart.lines.length + chart.colours.get(name)) % 6}`, from, to, bottom);
    if (track.shade) drawBand(plane, 'shade', ...track.shade, bottom);
    chart.lines.forEach((_, i) => drawLine(plane, track.rows, i, yOf));
    if (limit && limit.value <= most) {
        add(picture, 'path', {class: 'limit', d: `M${plot.left} ${yOf(limit.value).toFixed(1)}H${right}`});
        add(picture, 'text', {x: right - 2, y: yOf(limit.value) + 12, 'text-anchor': 'end'}, limitText(chart));
    }
    drawPeaks(track, picture, yOf, bottom);
}

// What nobody can see is drawn when it comes near.
function draw(track) {
    track.isStale = !track.isNear;
    if (track.isStale) { track.rows = null; return; }
    if (track.chart.kind === 'lanes') drawLanes(track);
    else if (track.chart.kind === 'strips') drawStrips(track);
    else drawLines(track);
}

// ---- the window that is shown ----

let isDrawing = false;
function show(window_) {
    const span = Math.min(Math.max(window_[1] - window_[0], (whole[1] - whole[0]) * 1e-7, 1e-5), whole[1] - whole[0]);
    const from = Math.min(Math.max(window_[0], whole[0]), whole[1] - span);
    shown = [from, from + span];
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
        isDrawing = false;
        tracks.forEach(draw);
        drawOverview();
        tellDepth();
        document.documentElement.dataset.charts = 'ready';
        const isWhole = shown[0] === whole[0] && shown[1] === whole[1];
        history.replaceState(null, '', isWhole ? location.pathname + location.search : `#t=${shown[0].toPrecision(8)},${shown[1].toPrecision(8)}`);
    });
}

function zoom(factor, at) {
    const middle = at === undefined ? (shown[0] + shown[1]) / 2 : at;
    show([middle - (middle - shown[0]) * factor, middle + (shown[1] - middle) * factor]);
}

function move(share) {
    const by = (shown[1] - shown[0]) * share;
    show([shown[0] + by, shown[1] + by]);
}

// How deep the picture goes.
function tellDepth() {
    const course = data.courses[0], span = shown[1] - shown[0], pixel = span / plot.width;
    if (!course || !course.seen || course.last <= 0) { depth.textContent = ''; return; }
    const each = pixel * course.seen / course.last;
    depth.textContent = each > 1.5 ? `one pixel = ${digits(each)} samples (${clock(pixel, pixel / 10)}); band = least to greatest`
        : 'every sample is drawn';
}

// ---- the overview ----

const overview = {};
function drawOverviewLine(picture, chart, number, x) {
    const parts = cut(chart.lines[number], whole[0], whole[1], Math.max(1, Math.round(plot.width))), base = OVERVIEW - 2, points = [];
    for (const at of [...parts.keys()].sort((a, b) => a - b)) {
        const part = parts.get(at), value = chart.peaks ? part.most : part.sum / part.count;
        if (part.count) points.push(`${x((part.x + part.last) / 2).toFixed(1)} ${(base - value / chart.range[1] * (base - 2)).toFixed(1)}`);
    }
    if (!points.length) return;
    const end = points[points.length - 1].split(' ')[0];
    add(picture, 'path', {class: `fill${number % 6}`, d: `M${plot.left} ${base}L${points.join('L')}L${end} ${base}Z`});
}

function drawOverview() {
    const chart = tracks.map(track => track.chart).find(one => one.kind === 'lines');
    if (!overview.box || !chart) return;
    const picture = pictureOf(overview, OVERVIEW), x = time => plot.left + (time - whole[0]) / (whole[1] - whole[0]) * plot.width;
    const [from, to] = shown.map(x);
    for (let line = 0; line < (chart.alike ? chart.lines.length : 1); line++) drawOverviewLine(picture, chart, line, x);
    add(picture, 'rect', {class: 'veil', x: plot.left, width: from - plot.left, height: OVERVIEW});
    add(picture, 'rect', {class: 'veil', x: to, width: plot.left + plot.width - to, height: OVERVIEW});
    add(picture, 'rect', {class: 'window', x: from + 0.5, y: 0.5, width: Math.max(to - from - 1, 1), height: OVERVIEW - 1});
    add(picture, 'text', {x: 0, y: OVERVIEW / 2 + 4}, 'range');
}

function overviewTime(clientX) {
    const x = clientX - overview.box.getBoundingClientRect().left;
    return whole[0] + (x - plot.left) / plot.width * (whole[1] - whole[0]);
}

function followOverview() {
    let begin = null, kept = null;
    overview.box.addEventListener('pointerdown', event => {
        overview.box.setPointerCapture(event.pointerId);
        begin = overviewTime(event.clientX);
        const isPart = shown[1] - shown[0] < (whole[1] - whole[0]) * 0.999;
        kept = isPart && begin > shown[0] && begin < shown[1] ? [...shown] : null;
    });
    overview.box.addEventListener('pointermove', event => {
        if (begin === null) return;
        const now = overviewTime(event.clientX);
        if (kept) show([kept[0] + now - begin, kept[1] + now - begin]);
        else if (Math.abs(now - begin) > (whole[1] - whole[0]) * 0.005) show([Math.min(begin, now), Math.max(begin, now)]);
    });
    overview.box.addEventListener('pointerup', () => { begin = null; });
    overview.box.addEventListener('dblclick', () => show(whole));
}

// ---- the readout ----

function rowAt(track, time) {
    const rows = track.rows, at = place(rows, time, row => row[0]);
    return rows[at > 0 && (at === rows.length || time - rows[at - 1][0] < rows[at][0] - time) ? at - 1 : at];
}

// When a line ends, of several that end at different times; a sample counts until the next one would come.
function endOf(chart, number) {
    const lasts = chart.lines.map(line => {
        const {x, mean} = line.fine || line.coarse;
        let at = mean.length - 1;
        while (at > 0 && isNaN(mean[at])) at--;
        return at < 0 ? -Infinity : x[at] + (at > 0 ? x[at] - x[at - 1] : 0);
    });
    return lasts.some(last => last > lasts[number]) ? lasts[number] : Infinity;
}

function hasEnded(chart, number, time) {
    return chart.alike && time > endOf(chart, number);
}

function legendText(track, number, time) {
    return hasEnded(track.chart, number, time) ? 'has ended' : worded(track.chart, valueAt(track, number, time));
}

function valueAt(track, line, time) {
    if (hasEnded(track.chart, line, time)) return null;
    if (track.rows) {
        const at = track.rows.indexOf(rowAt(track, time));
        for (let away = 0; away < 30; away++)       // lines of several recordings have values at different times
            for (const row of [track.rows[at - away], track.rows[at + away]]) if (row && row[line + 1][1] !== null) return row[line + 1][1];
        return null;
    }
    const level = levelOf(track.chart.lines[line], ...shown), at = Math.min(place(level.x, time), level.x.length - 1);
    return (track.chart.peaks ? level.most : level.mean)[at];
}

function bandsAt(chart, time) {
    return chart.bands.filter(([, from, to]) => time >= from && time <= to);
}

function tell(time) {
    readout.textContent = '';
    readout.append(element('b', '', clock(time, (shown[1] - shown[0]) / 1000)));
    for (const track of tracks) {
        const {chart} = track;
        let text;
        if (chart.kind === 'lanes') text = bandsAt(chart, time).slice(0, 4).map(band => band[0]).join(' › ');
        else if (chart.kind === 'strips') text = chart.lines.slice(0, 8).map((_, i) => valueAt(track, i, time)).map(value => isNaN(value) ? 'n/a' : value.toFixed(0)).join(' ') + ' %';
        else if (chart.alike) text = chart.lines.slice(0, 4).map((line, i) => `${line.name} ${legendText(track, i, time)}`).join(', ');
        else text = worded(chart, valueAt(track, 0, time));
        track.legend.forEach((value, i) => { value.textContent = chart.kind === 'lines' ? legendText(track, i, time) : ''; });
        if (chart.kind === 'lines' && chart.bands.length) text += ' ' + bandsAt(chart, time).slice(0, 4).map(band => band[0]).join(', ');
        if (!text) continue;
        const part = element('span', '', chart.kind === 'lanes' ? '' : chart.short + ' ');
        part.append(element('em', '', text));
        readout.append(part);
    }
}

function hide() {
    cross.hidden = true;
    const peak = tracks.flatMap(track => track.chart.kind === 'lines' ? peaksOf(track.chart) : []).find(each => each.x >= shown[0] && each.x <= shown[1]);
    tell(peak ? peak.x : shown[1]);
}

function point(clientX) {
    const x = clientX - area.getBoundingClientRect().left;
    const inside = x >= plot.left - 2 && x <= plot.left + plot.width + 2;
    cross.hidden = !inside;
    if (!inside) return;
    cross.style.left = x + 'px';
    tell(Math.min(Math.max(timeOf(x), shown[0]), shown[1]));
}

// ---- pointer and keys ----

const fingers = new Map();
let drag = null;

function xIn(event) {
    return event.clientX - area.getBoundingClientRect().left;
}

function begin(event) {
    const box = event.target.closest('.track');
    if (!box || event.button > 0) return;
    fingers.set(event.pointerId, event.clientX);
    const pans = event.shiftKey || event.pointerType === 'touch';
    drag = {x: xIn(event), y: event.clientY, window: [...shown], pans, hasMoved: false, box, fingers: [...fingers.entries()].map(one => [...one])};
    if (event.pointerType !== 'touch') box.setPointerCapture(event.pointerId);
}

function pinch() {
    const [one, two] = [...fingers.values()], [was, wasToo] = drag.fingers.map(entry => entry[1]);
    const left = area.getBoundingClientRect().left, [from, to] = drag.window;
    const time = x => from + (x - left - plot.left) / plot.width * (to - from);
    const span = (to - from) * Math.abs(was - wasToo) / Math.max(Math.abs(one - two), 10);
    const middle = time((was + wasToo) / 2), share = ((one + two) / 2 - left - plot.left) / plot.width;
    show([middle - span * share, middle + span * (1 - share)]);
}

function follow(event) {
    if (!drag) { point(event.clientX); return; }
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
    const x = xIn(event);
    drag.hasMoved = drag.hasMoved || Math.abs(x - drag.x) > 4;
    if (fingers.size > 1 && drag.fingers.length > 1) { pinch(); return; }
    if (!drag.hasMoved) return;
    if (drag.pans) {
        const by = (drag.x - x) / plot.width * (drag.window[1] - drag.window[0]);
        show([drag.window[0] + by, drag.window[1] + by]);
        return;
    }
    selection.hidden = false;
    selection.style.left = Math.min(x, drag.x) + 'px';
    selection.style.width = Math.abs(x - drag.x) + 'px';
    point(event.clientX);
}

function end(event) {
    fingers.delete(event.pointerId);
    const was = drag;
    selection.hidden = true;
    if (!was) return;
    drag = null;
    if (event.type === 'pointercancel') return;
    const x = xIn(event);
    if (was.hasMoved && !was.pans) show([timeOf(Math.min(x, was.x)), timeOf(Math.max(x, was.x))]);
    else if (!was.hasMoved) press(was, event);
}

// A click on a call shows it alone, and shades the charts where it was; a click on a strip adds the line of that GPU.
function press(was, event) {
    const track = tracks.find(one => one.box === was.box);
    point(event.clientX);
    if (!track || !track.picture || track.chart.kind === 'lines') return;
    const row = Math.floor((event.clientY - track.picture.getBoundingClientRect().top) / (track.chart.kind === 'lanes' ? LANE : STRIP));
    if (track.chart.kind === 'strips') { toggleLine(track, row); return; }
    const time = timeOf(was.x), band = bandsAt(track.chart, time).find(one => one[3] === row);
    if (!band) return;
    tracks.forEach(one => { one.shade = [band[1], band[2]]; });
    const margin = Math.max((band[2] - band[1]) * 0.1, (whole[1] - whole[0]) * 1e-6);
    show([band[1] - margin, band[2] + margin]);
}

function toggleLine(strips, number) {
    const line = strips.chart.lines[number];
    if (!line) return;
    const key = `${strips.chart.key}_${number}`, old = tracks.find(one => one.chart.key === key);
    if (old) {
        nearness.unobserve(old.box);
        old.figure.remove();
        tracks = tracks.filter(one => one !== old);
        return;
    }
    const chart = {...strips.chart, key, kind: 'lines', title: `${line.name} in use`, short: line.name, lines: [line], bands: [], of: strips.chart, line: number};
    const figure = element('figure');
    figure.append(element('figcaption', '', chart.title));
    strips.figure.after(figure);
    chart.range = [0, 105];
    drawNear(makeTrack(chart, figure, tracks.indexOf(strips) + 1));
}

const KEYS = {
    ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2),
    Home: () => show(whole), Escape: () => { tracks.forEach(track => { track.shade = null; }); show(whole); },
};

function listen() {
    area.addEventListener('pointerdown', begin);
    area.addEventListener('pointermove', follow);
    area.addEventListener('pointerup', end);
    area.addEventListener('pointercancel', end);
    area.addEventListener('pointerleave', () => { if (!drag) hide(); });
    area.addEventListener('dblclick', KEYS.Escape);
    area.addEventListener('wheel', event => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.3 : 1 / 1.3, timeOf(xIn(event)));
    }, {passive: false});
    area.addEventListener('keydown', event => {
        if (event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
        event.preventDefault();
        KEYS[event.key]();
        tell((shown[0] + shown[1]) / 2);
    });
}

// ---- what can be taken along ----

function save(name, blob) {
    const link = element('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function cellOf(value) {
    const text = String(value === null || Number.isNaN(value) ? '' : value);
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function csvOf(rows) {
    return rows.map(row => row.map(cellOf).join(',')).join('\n') + '\n';
}

function chartCsv(track) {
    const {chart} = track;
    if (chart.kind === 'lanes')
        return csvOf([['name', 'start', 'stop', 'lane'], ...chart.bands.filter(band => band[2] >= shown[0] && band[1] <= shown[1])]);
    const rows = track.rows || rowsOf(chart, ...shown), unit = chart.unit;
    const names = chart.lines.flatMap(line => [`${line.name} least (${unit})`, `${line.name} (${unit})`, `${line.name} greatest (${unit})`]);
    return csvOf([['seconds', ...names], ...rows.map(row => [row[0], ...row.slice(1).flat()])]);
}

// Places of the names of lines: a row has as many as the width has room for. Rows of other charts have their names.
function legendPlaces(track, width, top) {
    const places = [];
    let x = 4, y = top;
    for (const line of track.chart.kind === 'lines' ? track.chart.lines : []) {
        const name = fitted(line.name, width - LEGEND_KEY - 8), room = LEGEND_KEY + measure.measureText(name).width + 16;
        if (x > 4 && x + room > width) [x, y] = [4, y + LEGEND_ROW];
        places.push({name, x, y});
        x += room;
    }
    return places;
}

function drawLegend(context, places) {
    const page = getComputedStyle(document.body);
    context.font = measure.font;
    places.forEach(({name, x, y}, i) => {
        context.fillStyle = page.getPropertyValue(`--c${i % 6}`);
        context.fillRect(x, y - 9, 10, 10);
        context.fillStyle = page.color;
        context.fillText(name, x + LEGEND_KEY, y);
    });
}

// The picture alone has no style sheet: it takes its colours along.
function chartPng(track) {
    const {width, height} = track.picture.getBoundingClientRect(), ratio = 2, image = new Image(), copy = track.picture.cloneNode(true);
    const places = legendPlaces(track, width, 34), head = places.length ? places[places.length - 1].y + 10 : 24;
    const drawn = track.picture.querySelectorAll('*'), back = getComputedStyle(document.body).backgroundColor;
    copy.querySelectorAll('*').forEach((node, i) => {
        const style = getComputedStyle(drawn[i]);
        for (const name of ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font', 'paint-order']) node.style.setProperty(name, style.getPropertyValue(name));
    });
    image.onload = () => {
        const picture = element('canvas'), context = picture.getContext('2d');
        picture.width = width * ratio;
        picture.height = (height + head) * ratio;
        context.scale(ratio, ratio);
        context.fillStyle = back;
        context.fillRect(0, 0, width, height + head);
        context.fillStyle = getComputedStyle(document.body).color;
        context.font = 'bold 13px system-ui, sans-serif';
        context.fillText(track.chart.title, 4, 16);
        drawLegend(context, places);
        context.drawImage(image, 0, head, width, height);
        picture.toBlob(blob => save(track.chart.key + '.png', blob));
    };
    image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(copy));
}

// Twenty rows for readers who do not see pictures.
function toggleTable(track) {
    const old = track.figure.querySelector('.behind');
    if (old) { old.remove(); return; }
    const {chart} = track, box = element('div', 'scroll behind'), table = element('table'), head = table.createTHead().insertRow();
    ['Time', ...chart.lines.map(line => line.name)].forEach(name => head.append(element('th', '', name)));
    const body = table.createTBody();
    for (let i = 0; i < 20; i++) {
        const time = shown[0] + (i + 0.5) / 20 * (shown[1] - shown[0]), row = body.insertRow();
        row.append(element('th', '', clock(time, (shown[1] - shown[0]) / 100)));
        chart.lines.forEach((_, line) => row.append(element('td', '', worded(chart, valueAt(track, line, time)))));
    }
    box.append(table);
    track.figure.append(box);
}

function button(text, title, act) {
    const made = element('button', '', text);
    made.type = 'button';
    made.title = title;
    made.addEventListener('click', act);
    return made;
}

// ---- the page ----

function makeLegend(track, caption) {
    const list = element('span', 'values');
    track.legend = track.chart.kind !== 'lines' ? [] : track.chart.lines.map((line, i) => {
        const entry = element('span', 'value'), key = element('i', 'dot'), value = element('em');
        key.style.background = lineColour(i);
        entry.append(key, line.name + ' ', value);
        list.append(entry);
        return value;
    });
    caption.append(list);
}

const nearness = new IntersectionObserver(entries => {
    for (const {target, isIntersecting} of entries) {
        const track = tracks.find(one => one.box === target);
        if (!track) continue;
        track.isNear = isIntersecting;
        if (track.isNear && track.isStale) draw(track);
    }
}, {rootMargin: '50% 0px'});

function drawNear(track) {
    track.isNear = true;
    draw(track);
}

function makeTrack(chart, figure, position) {
    const box = element('div', 'track'), track = {chart, figure, box}, caption = figure.querySelector('figcaption');
    box.tabIndex = 0;
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', `${chart.title}: arrow keys move, plus and minus zoom, Home shows all`);
    box.classList.add(chart.kind);
    caption.textContent = chart.title;
    makeLegend(track, caption);
    if (chart.limit && chart.limit.value > chart.range[1]) caption.append(element('span', 'beyond', `(${limitText(chart)})`));
    const tools = element('span', 'tools');
    if (chart.kind !== 'lanes') tools.append(button('table', `${chart.title} as a table of what is shown`, () => toggleTable(track)));
    tools.append(button('PNG', `Save ${chart.title} as a picture`, () => chartPng(track)),
                 button('CSV', `Save what is shown of ${chart.title}`, () => save(chart.key + '.csv', new Blob([chartCsv(track)], {type: 'text/csv'}))));
    caption.append(tools);
    caption.after(box);
    figure.classList.add('moves');
    tracks.splice(position, 0, track);
    nearness.observe(box);
    return track;
}

function makeArea(first) {
    area = element('div', 'area');
    const bar = element('div', 'controls'), tools = element('div', 'zoom');
    readout = element('div', 'readout');
    readout.setAttribute('aria-live', 'polite');
    depth = element('p', 'depth');
    tools.append(button('←', 'Earlier', () => move(-0.5)), button('→', 'Later', () => move(0.5)), button('+', 'Closer', () => zoom(0.5)),
                 button('−', 'Wider', () => zoom(2)), button('all', 'The whole time', KEYS.Escape));
    bar.append(tools, readout);
    overview.box = element('div', 'overview');
    cross = element('div', 'cross');
    selection = element('div', 'selection');
    cross.hidden = selection.hidden = true;
    first.before(area);
    area.append(bar, overview.box, depth, cross, selection);
}

function findRange(moving) {
    let least = Infinity, most = -Infinity;
    for (const chart of moving) {
        for (const line of chart.lines) {
            const x = line.coarse ? line.coarse.x : [];
            if (x.length) { least = Math.min(least, x[0]); most = Math.max(most, x[x.length - 1]); }
        }
        for (const [, from, to] of chart.bands) { least = Math.min(least, from); most = Math.max(most, to); }
    }
    if (least > 1e7) {          // seconds since 1970 or since the start of a machine: the axis begins at 0
        for (const chart of moving) {
            chart.bands = chart.bands.map(([name, from, to, lane]) => [name, from - least, to - least, lane]);
            for (const line of chart.lines) if (line.coarse) line.coarse.x = line.coarse.x.map(x => x - least);
        }
        most -= least;
        least = 0;
    }
    for (const course of data.courses) { least = Math.min(least, 0); most = Math.max(most, course.last); }
    whole = most > least ? [least, most] : [least, least + 1];
}

// Bands of one name have one colour.
function nameColours(chart) {
    chart.colours = new Map();
    for (const band of chart.bands) if (!chart.colours.has(band[0])) chart.colours.set(band[0], chart.colours.size);
}

function startWindow() {
    const match = /^#t=([-+.\de]+),([-+.\de]+)$/.exec(location.hash);
    shown = match && Number(match[2]) > Number(match[1]) ? [Number(match[1]), Number(match[2])] : [...whole];
}

const SHORT = {memory_over_time: 'mem', cpu_over_time: 'cpu', gpu_memory_over_time: 'gpu mem', gpu_over_time: 'gpu',
               power_over_time: 'power', disk_over_time: 'disk', network_over_time: 'net', swap_over_time: 'swap'};

// Only charts with one axis move together: those of times that begin at the same moment.
async function prepared() {
    const unit = charts.map(chart => chart.x_unit).find(name => SECONDS[name]);
    const moving = charts.filter(chart => unit && chart.x_unit === unit);
    for (const chart of moving) {
        const factor = SECONDS[unit];
        chart.short = SHORT[chart.key] || chart.title;
        chart.bands = chart.bands.map(([name, from, to, lane]) => [name, from * factor, to * factor, lane]);
        nameColours(chart);
        if (chart.kind !== 'lanes') await Promise.all(chart.lines.map(line => loadFirst(line, factor)));
        if (chart.kind === 'lines') topOf(chart);
    }
    return moving;
}

function drawFirst() {
    tracks.forEach(track => { track.isNear = track.box.getBoundingClientRect().top < 1.5 * innerHeight; });
    show(shown);
}

let shape = '';
async function start() {
    shape = shapeOf(charts);
    const moving = await prepared();
    findRange(moving);
    if (!moving.length || !isFinite(whole[0])) return;
    startWindow();
    const figures = moving.map(chart => document.getElementById('figure' + (charts.indexOf(chart) + 1)));
    makeArea(figures[0]);
    moving.forEach((chart, i) => {
        depth.before(figures[i]);
        makeTrack(chart, figures[i], tracks.length);
    });
    followOverview();
    listen();
    layOut();
    addEventListener('hashchange', () => { startWindow(); show([...shown]); requestAnimationFrame(() => tell(shown[1])); });
    drawFirst();
    hide();
    let width = area.clientWidth;
    new ResizeObserver(() => {
        if (area.clientWidth === width) return;
        width = area.clientWidth;
        layOut();
        show(shown);
    }).observe(area);
}

// ---- a job that runs ----

// Which charts there are, and which lines. Lanes come and go with processes.
function shapeOf(list) {
    return JSON.stringify(list.map(chart => [chart.key, chart.kind, chart.kind === 'lanes' ? [] : chart.lines.map(line => line.name)]));
}

// Parts that did not change are left alone: somebody may be reading or marking them.
function refill(name, html) {
    const box = document.getElementById(name);
    if (box.dataset.told === html) return false;
    box.dataset.told = html;
    box.innerHTML = html;
    return true;
}

function renewTables(html) {
    const box = document.getElementById('rest');
    if (box.contains(area)) return;
    const keyOf = table => table.tHead ? table.tHead.textContent : '';
    const sorts = new Map([...box.querySelectorAll('[aria-sort]')].map(cell => [keyOf(cell.closest('table')), [cell.cellIndex, cell.ariaSort === 'ascending']]));
    const nameOf = fold => fold.firstElementChild.textContent, tableOf = more => keyOf(more.nextElementSibling.firstElementChild.nextElementSibling || more.nextElementSibling.firstElementChild);
    const open = new Set([...box.querySelectorAll('details[open]')].map(nameOf)), whole = new Set([...box.querySelectorAll('.more:checked')].map(tableOf));
    if (!refill('rest', html)) return;
    makeTables(box);
    for (const fold of box.querySelectorAll('details')) if (open.has(nameOf(fold))) fold.open = true;
    for (const more of box.querySelectorAll('.more')) if (whole.has(tableOf(more))) more.checked = true;
    for (const table of box.querySelectorAll('.scroll > table')) if (sorts.has(keyOf(table))) sortBy(table, ...sorts.get(keyOf(table)));
}

async function renew(state) {
    if (shapeOf(state.data.charts) !== shape) { location.reload(); return; }
    const wasWhole = shown[0] === whole[0] && shown[1] === whole[1], atEnd = shown[1] === whole[1], lastBefore = whole[1];
    const before = charts;
    ({data} = state);
    charts = data.charts;
    const moving = await prepared();
    findRange(moving);
    for (const track of tracks) {
        const at = before.findIndex(chart => chart === track.chart || track.chart.of === chart), now = charts[at];
        if (at < 0) continue;
        if (track.chart.of) track.chart = {...track.chart, of: now, lines: [now.lines[track.chart.line]]};
        else track.chart = now;
    }
    document.title = textOf(state.title);
    if (refill('head', state.head)) { makeRequests(document.getElementById('head')); tellFeed('running'); }
    renewTables(state.rest);
    const by = whole[1] - lastBefore;
    show(wasWhole ? [...whole] : atEnd ? [shown[0] + by, shown[1] + by] : shown);
    if (cross.hidden) requestAnimationFrame(() => tell(shown[1]));
}

function textOf(html) {
    return new DOMParser().parseFromString(html, 'text/html').body.textContent;
}

let feed = null, isRenewing = false;
function tellFeed(word) {
    const head = document.querySelector('#head header') || document.getElementById('head');
    let mark = document.getElementById('feed');
    if (!mark) {
        mark = element('span', 'feed');
        mark.id = 'feed';
        mark.setAttribute('role', 'status');
        head.append(mark);
    }
    mark.textContent = word;
    mark.classList.toggle('lost', word !== 'running');
}

// Nobody looks at a page that is hidden, and it asks for nothing.
function listenToFeed() {
    if (feed) feed.close();
    feed = null;
    if (document.hidden) return;
    feed = new EventSource(document.body.dataset.feed);
    feed.addEventListener('open', () => tellFeed('running'));
    feed.addEventListener('state', async event => {
        if (isRenewing) return;
        isRenewing = true;
        try { await renew(JSON.parse(event.data)); } finally { isRenewing = false; }
    });
    feed.addEventListener('end', () => { feed.close(); location.reload(); });
    feed.addEventListener('error', () => {
        tellFeed('connection lost, trying again');
        if (feed.readyState === EventSource.CLOSED) setTimeout(listenToFeed, 5000);
    });
}

// ---- tables ----

// Amounts are shown in a unit by their size: the cell has the exact figure, too.
function exactIn(cell) {
    return cell.dataset.v ?? cell.textContent;
}

function tableCsv(table) {
    return csvOf([...table.rows].map(row => [...row.cells].map(exactIn)));
}

function numberIn(text) {
    const value = parseFloat(text);
    return isNaN(value) ? -Infinity : value;
}

function sortBy(table, column, up) {
    const body = table.tBodies[0], rows = [...body.rows], head = table.tHead.rows[0].cells[column];
    const isUp = up === undefined ? head.getAttribute('aria-sort') === 'descending' : up;
    const isText = rows.some(row => row.cells[column].classList.contains('t') || row.cells[column].tagName === 'TH');
    const key = row => exactIn(row.cells[column]);
    rows.sort((a, b) => (isUp ? 1 : -1) * (isText ? key(a).localeCompare(key(b)) : numberIn(key(a)) - numberIn(key(b))));
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
    body.append(...rows);
}

function makeTables(within) {
    for (const table of within.querySelectorAll('.scroll > table')) {
        if (!table.tHead || table.tBodies.length !== 1 || table.tBodies[0].rows.length < 2) continue;
        [...table.tHead.rows[0].cells].forEach((cell, column) => {
            cell.classList.add('sorts');
            cell.tabIndex = 0;
            cell.addEventListener('click', () => sortBy(table, column));
            cell.addEventListener('keydown', event => { if (event.key === 'Enter') sortBy(table, column); });
        });
        const tools = element('div', 'tools');
        tools.append(button('copy as CSV', 'Copy the table', () => copy(tableCsv(table))));
        table.parentElement.after(tools);
    }
}

function makeRequests(within) {
    for (const code of within.querySelectorAll('.request')) code.after(button('copy', 'Copy this line', () => copy(code.textContent)));
}

function copy(text) {
    if (navigator.clipboard) { navigator.clipboard.writeText(text); return; }
    const field = element('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
}

// Paper has no folds.
addEventListener('beforeprint', () => { for (const fold of document.querySelectorAll('details')) fold.open = true; });

// Tables and still pictures are seen first.
requestAnimationFrame(() => setTimeout(() => {
    makeTables(document);
    makeRequests(document);
    const started = charts.length && window.DecompressionStream ? start() : null;
    if (document.body.dataset.feed) {
        Promise.resolve(started).then(listenToFeed);
        document.addEventListener('visibilitychange', listenToFeed);
    }
}, 0));
})();
