// Where a process spent its time: node bench/profile.mjs FILE.cpuprofile [rows]
// By function and by part (a package, a folder of dist, Node itself); each line is time in it, not in what it called.
import { readFileSync } from 'node:fs';

const [file, rows = '25'] = process.argv.slice(2);
const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8'));
const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
const functions = new Map();
const parts = new Map();
let busy = 0;

for (const [index, id] of samples.entries()) {
  const { functionName, url, lineNumber } = byId.get(id);
  if (functionName === '(idle)' || functionName === '(root)') continue;
  const ms = timeDeltas[index] / 1000;
  busy += ms;
  const place = url === '' ? '' : `${url.replace(/^.*\/(node_modules|dist)\//, '')}:${lineNumber + 1}`;
  add(functions, `${functionName || '(anonymous)'} ${place}`, ms);
  add(parts, partOf(functionName, url), ms);
}

console.log(`busy ${(busy / 1000).toFixed(1)} s`);
for (const [title, times] of Object.entries({ parts, functions })) {
  console.log(`\n${title}`);
  const sorted = [...times].sort(([, a], [, b]) => b - a).slice(0, Number(rows));
  for (const [name, ms] of sorted) console.log(`${((100 * ms) / busy).toFixed(1).padStart(5)} %  ${name}`);
}

function add(times, name, ms) {
  times.set(name, (times.get(name) ?? 0) + ms);
}

function partOf(functionName, url) {
  if (functionName.startsWith('(')) return functionName;
  if (url === '') return 'native';
  if (url.startsWith('node:')) return url.replace(/^node:(internal\/)?([^/]+).*$/, 'node:$2');
  const [, packaged] = /node_modules\/((@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  return packaged ?? /dist\/(src\/)?[^/]+/.exec(url)?.[0] ?? url;
}
