import { BackendError } from '../src/error.js';
import { RunQueue } from '../src/run-queue.js';

/** A task that ends on command. */
function task(log: string[], name: string) {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = async () => {
    log.push(`${name} starts`);
    await ended;
    log.push(`${name} ends`);
  };
  return { run, end };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('tasks run one at a time, in call order', async () => {
  const [log, queue] = [[] as string[], new RunQueue()];
  const [a, b] = [task(log, 'a'), task(log, 'b')];
  const done = [queue.run(a.run), queue.run(b.run)];
  b.end();
  await settle();
  expect(log).toEqual(['a starts']);
  a.end();
  await Promise.all(done);
  expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends']);
});

test('a task that fails does not stop the next', async () => {
  const queue = new RunQueue();
  const failed = queue.run(() => Promise.reject(new Error('no')));
  const next = queue.run(async () => 'yes');
  await expect(failed).rejects.toThrow('no');
  await expect(next).resolves.toBe('yes');
});

test('a task beside the others does not wait', async () => {
  const [log, queue] = [[] as string[], new RunQueue()];
  const [a, b] = [task(log, 'a'), task(log, 'b')];
  const done = [queue.run(a.run), queue.beside(b.run)];
  await settle();
  expect(log).toEqual(['a starts', 'b starts']);
  a.end();
  b.end();
  await Promise.all(done);
});

test('a task beside the others that throws at once rejects, and counts as ended', async () => {
  const queue = new RunQueue();
  const thrown = queue.beside(() => {
    throw new Error('at once');
  });
  await expect(thrown).rejects.toThrow('at once');
  const acts: string[] = [];
  queue.whenIdle(() => acts.push('idle'));
  expect(acts).toEqual(['idle']);
});

test('between acts at once when nothing runs, otherwise after earlier tasks and before later ones', async () => {
  const [log, queue] = [[] as string[], new RunQueue()];
  queue.between(() => log.push('now'));
  expect(log).toEqual(['now']);
  const [a, b] = [task(log, 'a'), task(log, 'b')];
  const done = [queue.run(a.run)];
  queue.between(() => log.push('free'));
  done.push(queue.run(b.run));
  a.end();
  b.end();
  await Promise.all(done);
  expect(log).toEqual(['now', 'a starts', 'a ends', 'free', 'b starts', 'b ends']);
});

test('whenIdle acts once nothing runs and nothing waits', async () => {
  const [log, queue] = [[] as string[], new RunQueue()];
  const [a, b, c] = [task(log, 'a'), task(log, 'b'), task(log, 'c')];
  const done = [queue.run(a.run), queue.run(b.run), queue.beside(c.run)];
  queue.whenIdle(() => log.push('idle'));
  a.end();
  b.end();
  await settle();
  expect(log).not.toContain('idle');
  c.end();
  await Promise.all(done);
  expect(log[log.length - 1]).toBe('idle');
});

test.each<[string, (queue: RunQueue, act: () => void) => void]>([
  ['between tasks', (queue, act) => queue.between(act)],
  ['at the end of all work', (queue, act) => queue.whenIdle(act)],
])('an error %s is a warning, not an unhandled rejection', async (_, ask) => {
  const warnings: unknown[] = [];
  const { emitWarning } = process;
  process.emitWarning = (...warning: unknown[]) => void warnings.push(warning);
  const queue = new RunQueue();
  const { run, end } = task([], 'a');
  const done = queue.run(run);
  ask(queue, () => {
    throw new BackendError('DEVICE_FAILED', '[free] the driver failed');
  });
  end();
  await done;
  await expect(queue.run(async () => 'next')).resolves.toBe('next');
  await settle();
  process.emitWarning = emitWarning;
  expect(warnings).toEqual([['[free] the driver failed', { type: 'QuernWarning', code: 'DEVICE_FAILED' }]]);
});

describe('with two plans in flight', () => {
  /** A plan that the device has at once, and that ends on command. */
  function plan(log: string[], name: string) {
    const { run, end } = task(log, name);
    const hand = (handed: () => void) => {
      const running = run();
      handed();
      return running;
    };
    return { hand, end };
  }

  test('the second begins before the first has ended, the third does not', async () => {
    const [log, queue] = [[] as string[], new RunQueue(2)];
    const plans = ['a', 'b', 'c'].map((name) => plan(log, name));
    const done = plans.map(({ hand }) => queue.plan(hand));
    await settle();
    expect(log).toEqual(['a starts', 'b starts']);
    plans[0]!.end();
    await done[0];
    await settle();
    expect(log).toEqual(['a starts', 'b starts', 'a ends', 'c starts']);
    for (const { end } of plans) end();
    await Promise.all(done);
  });

  test('a plan that the device does not have yet delays the next plan', async () => {
    const [log, queue] = [[] as string[], new RunQueue(2)];
    const [a, b] = [task(log, 'a'), plan(log, 'b')];
    let hand: () => void = () => {};
    const first = queue.plan((handed) => {
      hand = handed;
      return a.run();
    });
    const second = queue.plan(b.hand);
    await settle();
    expect(log).toEqual(['a starts']);
    hand();
    await settle();
    expect(log).toEqual(['a starts', 'b starts']);
    a.end();
    b.end();
    await Promise.all([first, second]);
  });

  test('results settle in the order of the calls, failures too', async () => {
    const queue = new RunQueue(2);
    const log: string[] = [];
    const a = plan([], 'a');
    const first = queue.plan(a.hand).then(() => log.push('a'));
    const second = queue
      .plan((handed) => {
        handed();
        return Promise.reject(new Error('no'));
      })
      .catch(() => log.push('b failed'));
    await settle();
    expect(log).toEqual([]);
    a.end();
    await Promise.all([first, second]);
    expect(log).toEqual(['a', 'b failed']);
  });

  test('any other task has the device to itself', async () => {
    const [log, queue] = [[] as string[], new RunQueue(2)];
    const [a, b, c] = [plan(log, 'a'), task(log, 'b'), plan(log, 'c')];
    const done = [queue.plan(a.hand), queue.run(b.run), queue.plan(c.hand)];
    queue.between(() => log.push('free'));
    a.end();
    await done[0];
    await settle();
    expect(log).toEqual(['a starts', 'a ends', 'b starts']);
    b.end();
    await done[1];
    await settle();
    expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends', 'c starts']);
    c.end();
    await done[2];
    await settle();
    expect(log.at(-1)).toBe('free');
  });
});
