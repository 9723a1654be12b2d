import { existsSync } from 'node:fs';

/** The browser for tests of the page: Debian's package `chromium`, or another that is installed. */
export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
);

if (!chromium) console.warn('the tests of the page are skipped: there is no Chromium');
