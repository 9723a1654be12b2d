// Checks relative links of all Markdown files: the file exists, and the anchor's heading exists (anchors as on GitHub).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { root } from './setup.mjs';

const skipped = ['node_modules', 'dist', 'build', 'gpu-kit', '.git', '.nx'];
const pages = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return skipped.includes(entry.name) ? [] : pages(path);
    return path.endsWith('.md') ? [path] : [];
  });

const proseOf = (page) => readFileSync(page, 'utf8').replace(/^(```|~~~).*?^\1/gms, '');

/** The anchor of each heading; a second heading with equal text ends with -1. */
function anchorsOf(page) {
  const seen = {};
  return [...proseOf(page).matchAll(/^#+ (.+?)\s*$/gm)].map(([, heading]) => {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = text.replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '').replace(/\s/g, '-');
    seen[anchor] = (seen[anchor] ?? -1) + 1;
    return seen[anchor] ? `${anchor}-${seen[anchor]}` : anchor;
  });
}

const link = /`[^`\n]*`|\]\((?![a-z]+:)([^)#\s]*)#?([^)\s]*)\)/g; // code is skipped
const broken = pages(root).flatMap((page) =>
  [...proseOf(page).matchAll(link)].flatMap(([code, path, anchor]) => {
    const target = path ? resolve(dirname(page), path) : page;
    const there = existsSync(target) && (!anchor || anchorsOf(target).includes(anchor));
    return there || code[0] === '`' ? [] : [`${relative(root, page)}: broken link ${path}#${anchor}`];
  }),
);
console.log(broken.join('\n') || 'no broken links in Markdown files');
process.exitCode = broken.length > 0 ? 1 : 0;
