// Shows the objects at the time of the slider. `kinds`, from the script before this one: for each
// kind its name, its states as [name, colour], and its rows as [name, time in ms of each state
// after the first; null: never].

const slider = document.getElementById('time');
const largestSide = 24;  // of an object's square, CSS pixels
const heightWanted = 300;  // of a kind's squares, CSS pixels

function stateAt(row, seconds) {
    let state = 0;
    for (let i = 1; i < row.length; i++) {
        if (row[i] !== null && row[i] <= seconds * 1000)
            state = i;
    }
    return state;
}

// As many squares per line as fit; sides and sizes are in pixels of the screen.
function layOut(kind) {
    const ratio = devicePixelRatio;
    const nRows = kind.rows.length;
    const width = Math.trunc(kind.canvas.clientWidth * ratio);
    const area = width * heightWanted * ratio;
    const fitting = Math.floor(Math.sqrt(area / Math.max(nRows, 1)));

    kind.side = Math.max(2, Math.min(Math.trunc(largestSide * ratio), fitting));
    kind.columns = Math.max(1, Math.floor(width / kind.side));
    kind.canvas.width = width;
    kind.canvas.height = Math.max(1, Math.ceil(nRows / kind.columns)) * kind.side;
}

function draw(kind) {
    const seconds = Number(slider.value);
    const counts = kind.states.map(() => 0);

    layOut(kind);
    const context = kind.canvas.getContext('2d');
    const size = kind.side - (kind.side > 5 ? 1 : 0);  // small squares have no gap
    kind.rows.forEach((row, i) => {
        const state = stateAt(row, seconds);
        const x = i % kind.columns * kind.side;
        const y = Math.floor(i / kind.columns) * kind.side;
        counts[state]++;
        context.fillStyle = kind.states[state][1];
        context.fillRect(x, y, size, size);
    });

    const title = kind.name == 'pods' ? `at ${seconds.toFixed(1)} s: ` : `${kind.name}: `;
    const parts = kind.states.map(([name], i) => `${counts[i]} ${name}`);
    kind.text.textContent = title + parts.filter((part, i) => counts[i] > 0).join(', ');
}

function drawAll() {
    kinds.forEach(draw);
}

function objectAt(kind, event) {
    const column = Math.floor(event.offsetX * devicePixelRatio / kind.side);
    const line = Math.floor(event.offsetY * devicePixelRatio / kind.side);
    return kind.rows[line * kind.columns + column];
}

function fillLegend(legend, states) {
    for (const [name, color] of states) {
        const entry = document.createElement('span');
        const square = document.createElement('i');
        square.style.background = color;
        entry.append(square, name);
        legend.append(entry);
    }
}

for (const kind of kinds) {
    const section = document.getElementById(kind.name);
    const tip = section.querySelector('.tip');

    kind.text = section.querySelector('.now');
    kind.canvas = section.querySelector('canvas');
    fillLegend(section.querySelector('.legend'), kind.states);
    kind.canvas.addEventListener('pointermove', event => {
        const row = objectAt(kind, event);
        tip.textContent = row === undefined ? '\u00a0'
            : `${row[0]}: ${kind.states[stateAt(row, Number(slider.value))][0]}`;
    });
}
slider.addEventListener('input', drawAll);
addEventListener('resize', drawAll);

const wanted = /^#t=([0-9.]+)$/.exec(location.hash);  // report.html#t=12.5 opens at that time
if (wanted !== null)
    slider.value = wanted[1];
drawAll();
