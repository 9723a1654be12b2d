// What the page makes of answers, and what the browser keeps: in headless Chromium, with answers that the test writes.
import { type Browser, launch, type Page } from 'puppeteer-core';
import { chromium } from './chromium.js';
import { delta, type FakeApi, fakeApi, streamError, told } from './fake-api.js';
import { costlyMarkdown, hostileMarkdown } from './hostile-markdown.js';

const describeBrowser = chromium ? describe : describe.skip;
const chat = '/v1/chat/completions';

const sample = `# Title

Some **bold**, *slanted*, ~~old~~ and \`code\`, a [link](https://example.com/a_b) &amp; an entity.
A second line<br>and a third.

1. one
2. two
   - inner

   more of two
3. three

- [x] done
- [ ] open

| a | b |
|:-:|--:|
| x | \`y\` |

> quoted

\`\`\`js
const a = "**not bold**";

// after an empty line
\`\`\`

    indented

---

Last [named][1].

[1]: https://example.com/named
`;

describeBrowser('answers on the page', () => {
  let api: FakeApi;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];
  const foreign: string[] = [];

  beforeAll(async () => {
    api = await fakeApi();
    browser = await launch({ executablePath: chromium!, args: ['--no-sandbox', '--disable-gpu'] });
    page = await browser.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(api.url)) foreign.push(request.url());
    });
    await page.setViewport({ width: 390, height: 844 });
    await load();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    api?.close();
  });

  // Scripts of the page are texts: this file knows no types of browsers.
  const evaluate = (script: string): Promise<unknown> => page.evaluate(script);
  const until = (script: string) => page.waitForFunction(script, { timeout: 60_000 });
  const text = (selector: string) => page.$eval(selector, ({ textContent }) => textContent ?? '');
  const click = (selector: string) => evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
  const button = (item: string, label: string) =>
    evaluate(
      `[...document.querySelectorAll(${JSON.stringify(`${item} .tools button`)})].find((b) => b.textContent === '${label}').click()`,
    );
  const contents = () =>
    evaluate(
      "[...document.querySelectorAll('#messages > li > .body')].map((body) => body.textContent.trim())",
    );
  const set = (selector: string, value: string) =>
    evaluate(`document.querySelector(${JSON.stringify(selector)}).value = ${JSON.stringify(value)}`);
  const sent = () =>
    JSON.parse(api.asked[chat]!.at(-1)!) as { messages: { role: string; content: string }[] };
  /** The answer has ended: it can be sent again, and its buttons are there. */
  const ended = () => until("document.querySelector('#messages > li.assistant:last-child > .tools')");

  async function load(): Promise<void> {
    await page.goto(api.url);
    await page.waitForSelector('#model option');
  }

  async function ask(content: string, ...answers: ReturnType<typeof told>[]): Promise<void> {
    api.answers[chat] = [...answers];
    await set('#prompt', content);
    await evaluate("document.querySelector('#ask').requestSubmit()");
  }

  /** Elements of a Markdown text, shown at once. */
  const rendered = (markdown: string, script: string) =>
    evaluate(`import('/page/markdown.js').then(({ Markdown }) => {
      const place = document.createElement('div');
      const shown = new Markdown(place);
      shown.show(${JSON.stringify(markdown)});
      shown.end();
      document.body.append(place);
      const result = (${script})(place, shown);
      place.remove();
      return result;
    })`);

  test('Markdown becomes elements', async () => {
    await ask('Show it', told(sample));
    await ended();
    const shape = (await evaluate(
      "[...document.querySelectorAll('li.assistant .body *')].map((each) => each.localName).join(' ')",
    )) as string;
    for (const name of ['h2', 'strong', 'em', 'del', 'a', 'br', 'ol', 'ul', 'table', 'blockquote', 'hr'])
      expect(shape.split(' ')).toContain(name);
    expect(await text('.body p')).toContain('a link & an entity.');
    expect(await text('.body figure .language')).toBe('js');
    expect(await text('.body figure code')).toBe('const a = "**not bold**";\n\n// after an empty line');
    expect(await text('.body li.task')).toBe('☑ done');
    expect(await evaluate("document.querySelector('.body td:nth-child(2)').className")).toBe('right');
    expect(await evaluate("[...document.querySelectorAll('.body a')].map((a) => [a.href, a.rel])")).toEqual([
      ['https://example.com/a_b', 'noopener noreferrer'],
      ['https://example.com/named', 'noopener noreferrer'],
    ]);
  });

  test('a text that grows is shown as the whole text; what has ended is not made again', async () => {
    const result = (await rendered(
      sample,
      `async (whole) => {
        const { Markdown } = await import('/page/markdown.js');
        const results = [];
        for (const step of [1, 3, 17]) {
          const place = document.createElement('div');
          const shown = new Markdown(place);
          const firsts = new Set();
          const codes = new Set();
          const text = ${JSON.stringify(sample)};
          for (let end = step; end < text.length + step; end += step) {
            shown.show(text.slice(0, end));
            if (end > 60) firsts.add(place.firstChild);
            if (/inner/.test(place.textContent) && !/indented/.test(place.textContent)) codes.add(place.querySelector('figure'));
          }
          const before = place.innerHTML;
          shown.end();
          results.push([place.innerHTML === whole.innerHTML, firsts.size, codes.size]);
        }
        return results;
      }`,
    )) as unknown[];
    // A block of code is made anew while its language and its end are written, not for each letter.
    for (const [isSame, firsts, codes] of result as [boolean, number, number][]) {
      expect([isSame, firsts]).toEqual([true, 1]);
      expect(codes).toBeLessThanOrEqual(8);
    }
  });

  test('hostile Markdown is text: nothing runs, loads or leads away', async () => {
    for (const markdown of hostileMarkdown) {
      const found = await rendered(
        markdown,
        `(place) => ({
          elements: [...place.querySelectorAll(':not(${allowed.join(', ')})')].map((each) => each.outerHTML),
          attributes: [...place.querySelectorAll('*')].flatMap((each) => each.getAttributeNames())
            .filter((name) => !/^(class|dir|href|title|target|rel|type|aria-label|tabindex|role|start)$/.test(name)),
          links: [...place.querySelectorAll('a')].map((a) => a.protocol).filter((each) => !/^(https?|mailto):$/.test(each)),
          text: place.textContent !== '',
        })`,
      );
      expect([markdown, found]).toEqual([markdown, { elements: [], attributes: [], links: [], text: true }]);
    }
    expect(await evaluate('typeof hacked')).toBe('undefined');
    await ask('All of it', told(hostileMarkdown.join('\n\n')));
    await ended();
    expect(await evaluate('typeof hacked')).toBe('undefined');
    expect(foreign).toEqual([]);
  });

  test('costly Markdown is shown, at worst as plain text', async () => {
    for (const markdown of costlyMarkdown) {
      const depth = `(place) => {
        let [depth, each] = [0, place];
        while ((each = each.querySelector(':scope > *'))) depth++;
        return depth;
      }`;
      expect(await rendered(markdown, depth)).toBeLessThan(50);
    }
  });

  test('code and answers are copied, also without a clipboard of its own', async () => {
    await click('#clear');
    await ask('Code', told('Look:\n\n```sh\necho "a  b"\n```'));
    await ended();
    await evaluate('navigator.clipboard.writeText = async (text) => { window.copied = text; }');
    await click('figure .language + button');
    await until('window.copied === \'echo "a  b"\'');
    expect(await text('figure .language + button')).toBe('Copied');
    await click('li.assistant > .tools button');
    await until("window.copied.startsWith('Look:')");
    await evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
      document.addEventListener('copy', () => { window.copied = 'by selection: ' + document.activeElement.value; })`);
    await click('li.assistant > .tools button');
    await until("window.copied?.startsWith('by selection: Look:')");
  });

  test('a question is edited, an answer made again, messages deleted and taken back', async () => {
    await click('#clear');
    await ask('First', told('one'));
    await ended();
    await ask('Second', told('two'));
    await ended();
    api.answers[chat] = [told('two again')];
    await button('li:last-child', 'Regenerate');
    await until("/two again/.test(document.querySelector('#messages').textContent)");
    await ended();
    expect(await contents()).toEqual(['First', 'one', 'Second', 'two again']);
    expect(sent().messages.map(({ content }) => content)).toEqual(['First', 'one', 'Second']);

    api.answers[chat] = [told('another')];
    await button('li:first-child', 'Edit');
    expect(await text('.edit small')).toBe('The 3 messages after it will be replaced.');
    await set('.edit textarea', 'First, edited');
    await evaluate("document.querySelector('.edit').requestSubmit()");
    await until("/another/.test(document.querySelector('#messages').textContent)");
    await ended();
    expect(await contents()).toEqual(['First, edited', 'another']);
    expect(sent().messages.map(({ content }) => content)).toEqual(['First, edited']);

    await click('#undo');
    expect(await contents()).toEqual(['First', 'one', 'Second', 'two again']);

    api.answers[chat] = [{ body: [delta('never whole')], end: 'hold' }];
    await button('li:last-child', 'Regenerate');
    await until("/never whole/.test(document.querySelector('#messages').textContent)");
    await button('li:first-child', 'Edit');
    await evaluate("document.querySelector('.edit').requestSubmit()");
    expect(await text('#problem')).toBe('An answer is under way: stop it first.');
    await click('#undo'); // also ends the answer under way
    await until("!document.querySelector('#send').disabled");
    expect(await contents()).toEqual(['First', 'one', 'Second', 'two again']);
    expect(await text('li:last-child > .tools')).toBe('CopyRegenerateDelete');
    await button('li:nth-child(3)', 'Delete');
    expect(await contents()).toEqual(['First', 'one']);
    expect(await text('#notice-text')).toBe('2 messages are deleted.');
    await click('#undo');
    expect(await contents()).toHaveLength(4);
  });

  test('answers that are not whole say so', async () => {
    await click('#clear');
    const cases = [
      [told('half', 'length'), /^Cut off: .*Max tokens/],
      [{ body: [delta('half'), streamError('the device is lost')] }, /^Error: the device is lost$/],
      [{ body: [delta('half')] }, /^Incomplete: the connection broke/],
      [{ body: [delta('half')], end: 'breaks' }, /^Incomplete: the connection broke/],
      [{ status: 429, body: ['{"error": {"message": "the queue is full"}}'] }, /^Error: the queue is full$/],
    ] as const;
    for (const [answer, words] of cases) {
      await ask('Go on', answer);
      await until("document.querySelector('#messages > li.assistant:last-child .cut')");
      expect(await text('li:last-child .cut')).toMatch(words);
      await ended();
    }
    api.answers[chat] = [told(' and **whole**')];
    await button('li:nth-child(2)', 'Continue');
    await until("/and whole/.test(document.querySelector('#messages').textContent)");
    await ended();
    expect(await contents()).toEqual(['Go on', 'half and whole']);
    expect(sent()).toMatchObject({
      continue_final_message: true,
      messages: [
        { role: 'user', content: 'Go on' },
        { role: 'assistant', content: 'half' },
      ],
    });
    await click('#undo'); // the messages behind it are back
    expect(await contents()).toHaveLength(2 * cases.length);
    await ask('And this', { body: [delta('half')], end: 'hold' });
    await until("/half/.test(document.querySelector('#messages > li:last-child').textContent)");
    await click('#stop');
    await until("/^Stopped/.test(document.querySelector('#messages > li:last-child .cut')?.textContent)");
    await load(); // the marks are kept
    expect(await evaluate("document.querySelectorAll('.cut').length")).toBe(cases.length);
    api.answers[chat] = [told('whole')];
    await button('li:last-child', 'Regenerate');
    await until("/whole/.test(document.querySelector('#messages > li:last-child').textContent)");
    expect(await evaluate("document.querySelectorAll('.cut').length")).toBe(cases.length - 1);
  });

  test('errors in answers with status 200', async () => {
    await click('#tab-embeddings');
    const late = '\n\n{"error": {"message": "too late"}, "status": 504}';
    api.answers['/v1/embeddings'] = [{ body: [late] }, { body: ['\n\n{"data": [{"embe'] }];
    await click('#embed button');
    await until("document.querySelector('#problem').textContent === 'too late'");
    await until("!document.querySelector('#embed button').disabled");
    await click('#embed button');
    await until("/connection broke/.test(document.querySelector('#problem').textContent)");
    await click('#tab-chat');
  });

  test('conversations are kept: listed, renamed, deleted, opened again', async () => {
    await click('#clear');
    await ask('A tale of two cities, and of a third', told('**Once**'));
    await ended();
    await load();
    expect(await contents()).toEqual(['A tale of two cities, and of a third', 'Once']);
    expect(await evaluate("document.querySelector('[aria-current] .open').textContent")).toBe(
      'A tale of two cities, and of a third',
    );
    await click('.toggle[aria-controls=chats]');
    await click('[aria-current] .rename');
    await set('#conversations input', 'Cities');
    await page.focus('#conversations input');
    await page.keyboard.press('Enter');
    expect(await text('[aria-current] .open')).toBe('Cities');
    const before = (await evaluate("document.querySelectorAll('#conversations li').length")) as number;
    await click('[aria-current] .delete');
    expect(await contents()).toEqual([]);
    await load();
    expect(await evaluate("document.querySelectorAll('#conversations li').length")).toBe(before - 1);
    await click('#conversations .open');
    expect(await contents()).not.toEqual([]);
  });

  test('conversations are exported, and imported once', async () => {
    const count = () => evaluate("document.querySelectorAll('#conversations li').length");
    const before = (await count()) as number;
    const text = (await evaluate(`new Promise((resolve) => {
      HTMLAnchorElement.prototype.click = () => {}; // no file of this test
      URL.createObjectURL = (blob) => { resolve(blob.text()); return ''; };
      document.querySelector('#export').click();
    })`)) as string;
    const { conversations } = JSON.parse(text) as { conversations: { id: string }[] };
    expect(conversations).toHaveLength(before);
    const more = [...conversations, { ...conversations[0], id: 'another' }, { id: 'damaged' }];
    const give = async (content: string, told: RegExp) => {
      await evaluate(`{
        const files = new DataTransfer();
        files.items.add(new File([${JSON.stringify(content)}], 'a.json'));
        const field = document.querySelector('#import');
        field.files = files.files;
        field.dispatchEvent(new Event('change'));
      }`);
      await until(`${told}.test(document.querySelector('#notice-text').textContent)`);
    };
    await give(
      JSON.stringify({ conversations: more }),
      new RegExp(`^1 imported, ${before} already here, 1 damaged\\.$`),
    );
    expect(await count()).toBe(before + 1);
    await give('{', /^This file has no conversations/);
    await load();
    expect(await count()).toBe(before + 1);
  });

  test('damaged stored data, and a browser without room, are told and break nothing', async () => {
    const stored = [
      { id: 'a' },
      { id: 'b', title: 'x', updated: 1, messages: [{ role: 'user', content: 7 }] },
    ];
    await evaluate(`localStorage.setItem('settings', '{"temperature":');
      import('/page/store.js').then(({ write }) => Promise.all(${JSON.stringify(stored)}.map(write)))`);
    await load();
    await until(
      "/^2 stored conversations are damaged/.test(document.querySelector('#notice-text').textContent)",
    );
    await evaluate(`localStorage.setItem('settings', '[7]');
      IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }`);
    await click('#clear');
    await ask('Hello', told('Hi'));
    await ended();
    expect(await text('#notice-text')).toMatch(/no room for more conversations: delete some/);
    expect(await contents()).toEqual(['Hello', 'Hi']);
    await evaluate("indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); }");
  });

  test('no view is wider than 390 px, light or dark', async () => {
    const long = `${'word'.repeat(60)} \`${'code'.repeat(60)}\` https://example.com/${'x'.repeat(200)}`;
    const wide = `\n\n| ${'a | '.repeat(20)}\n|${'-|'.repeat(20)}\n| ${'cell | '.repeat(20)}\n\n\`\`\`\n${'y'.repeat(300)}\n\`\`\`\n`;
    await load();
    await click('#clear');
    await ask(long, told(`${long}${wide}- ${long}\n\n> ${long}\n\n# ${long}`, 'length'));
    await ended();
    await button('li.user', 'Edit');
    await click('#tab-embeddings');
    await set('#texts', `${long}\nb`);
    const data = [{ embedding: [1, 0] }, { embedding: [0, 1] }];
    api.answers['/v1/embeddings'] = [{ body: [JSON.stringify({ data })] }];
    await click('#embed button');
    await page.waitForSelector('#similarities td', { timeout: 60_000 });
    for (const scheme of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      for (const tab of ['chat', 'embeddings', 'speech', 'server']) {
        await click(`#tab-${tab}`);
        expect([scheme, tab, await evaluate(beyondTheEdge)]).toEqual([scheme, tab, []]);
      }
    }
    await click('#tab-chat');
    for (const panel of ['chats', 'setting-panel']) {
      await click(`.toggle[aria-controls=${panel}]`);
      expect(await evaluate(`document.querySelector('#${panel}').checkVisibility()`)).toBe(true);
      expect([panel, await evaluate(beyondTheEdge)]).toEqual([panel, []]);
    }
    await page.keyboard.press('Escape');
    expect(await evaluate("document.querySelector('#setting-panel').checkVisibility()")).toBe(false);
  });

  test('nothing failed, and the policy of the page was kept', () => {
    const expected = /status of (429|500)|ERR_INCOMPLETE_CHUNKED_ENCODING/; // the browser's own lines on the answers above
    expect(faults.filter((each) => !expected.test(each))).toEqual([]);
  });
});

/** What Markdown may become. */
const allowed =
  'p, h2, h3, h4, h5, h6, strong, em, del, code, pre, br, a, span, ul, ol, li, blockquote, table, thead, tbody, tr, th, td, hr, div, figure, figcaption, button'.split(
    ', ',
  );

/** Elements that stick out of the page, but those in boxes that scroll. */
const beyondTheEdge = `[document.documentElement, ...document.querySelectorAll('body *')]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 || each.getBoundingClientRect().left < -1)
  .filter((each) => !each.parentElement?.closest('.wide, pre, .hidden'))
  .concat([...document.querySelectorAll('html, body, main, #messages')].filter((each) => each.scrollWidth > each.clientWidth))
  .map((each) => each.outerHTML.slice(0, 120))`;
