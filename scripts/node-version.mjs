// Imported first by every command, so that what cannot work says so in one line instead of by a stack trace.
import { readFileSync } from 'node:fs';

if (process.platform === 'win32') {
  console.error('These scripts need Linux or macOS; on Windows, run them inside WSL.');
  process.exit(1);
}

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const wanted = engines.node.replace('>=', '').split('.').map(Number);
const present = process.versions.node.split('.').map(Number);

if (present[0] < wanted[0] || (present[0] === wanted[0] && present[1] < wanted[1])) {
  console.error(`Node ${wanted.join('.')} or newer is needed; this is Node ${process.versions.node}.`);
  process.exit(1);
}
