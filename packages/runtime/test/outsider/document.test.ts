import { readdirSync, readFileSync } from 'node:fs';

test.each(['backend', 'architecture'])(
  'the README of docs/examples/%s links to every file of the folder',
  (name) => {
    const example = new URL(`../../../../docs/examples/${name}/`, import.meta.url);
    const readme = readFileSync(new URL('README.md', example), 'utf8');
    const shown = [...readme.matchAll(/\]\(([\w.-]+)\)/g)].map(([, link]) => link!);
    expect(shown.sort()).toEqual(
      readdirSync(example)
        .filter((file) => file !== 'README.md')
        .sort(),
    );
  },
);
