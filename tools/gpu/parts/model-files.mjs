// Writes files of subjects.mjs in the background, in the order of their use: node model-files.mjs FOLDER… -- FILE… Each goes to the first folder with room
// for it, under another name until it is whole. Sends { file, path } or { file, failed } of each. Waits for room while files before it are in use.
import { mkdtempSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText, sendToParent } from './processes.mjs';
import { secondsLeft } from './setting.mjs';
import { files } from './subjects.mjs';

const rest = process.argv.slice(2);
const folders = rest.slice(0, rest.indexOf('--'));
const wanted = rest.slice(rest.indexOf('--') + 1);

try {
  setPriority(10); // work of the device's host comes first
} catch {
  // Not allowed.
}

/** Room that other programs keep. */
const margin = 64e6;

function freeIn(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0; // no such folder
  }
}

const gigabytes = (bytes) => `${(bytes / 1e9).toFixed(2)} GB`;

/** The first folder with room, as soon as there is one. Throws at the end of the part. */
async function folderFor({ bytes }) {
  for (;;) {
    const folder = folders.find((each) => freeIn(each) > bytes + margin);
    if (folder) return folder;
    const free = folders.map((each) => `${each} has ${gigabytes(freeIn(each))} free`).join(', ');
    if (secondsLeft() < 5 || !folders.some((each) => made.has(each)))
      throw new Error(`no folder has room for ${gigabytes(bytes)}: ${free}`);
    await sleep(500);
  }
}

/** Folders of ours by the folder that they are in. */
const made = new Map();
function ownFolder(folder) {
  if (!made.has(folder)) {
    made.set(folder, mkdtempSync(join(folder, 'quern-')));
    sendToParent({ made: made.get(folder) });
  }
  return made.get(folder);
}

async function write(name) {
  let part;
  try {
    const path = join(ownFolder(await folderFor(files[name])), basename(name));
    part = path.replace(/(\.\w+)?$/, '.part$1');
    await files[name].write(part);
    renameSync(part, path);
    sendToParent({ file: name, path });
  } catch (error) {
    if (part) rmSync(part, { recursive: true, force: true });
    sendToParent({ file: name, failed: errorText(error) });
  }
}

for (const name of wanted) await write(name);
process.exit();
