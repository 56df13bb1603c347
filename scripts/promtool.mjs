// Prints the path of a promtool for the test of the alert rules: the installed one, or the one of the distribution's
// package, unpacked for this project. Ends with 1 where there is none to be had.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand, Unavailable } from './process/lifetime.mjs';
import { debianProgram, isInPath } from './services/debian-package.mjs';
import { keptFolder, serviceUser } from './services/place.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

await runCommand('promtool', async (lifetime) => {
  const path = isInPath('promtool')
    ? 'promtool'
    : await debianProgram({
        name: 'prometheus',
        program: 'usr/bin/promtool',
        // A static program: nothing of what Prometheus itself depends on is needed.
        alone: true,
        folder: keptFolder(root, serviceUser()),
        lifetime,
        announce: () =>
          console.error(
            'promtool is not installed: unpacking the distribution’s package for this project (25 MB, once)',
          ),
      });
  if (path === null)
    throw new Unavailable('no promtool to be had: install it (Debian, Ubuntu: apt-get install prometheus)');
  console.log(path);
  return 0;
});
