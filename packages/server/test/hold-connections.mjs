// Opens connections to a port of this machine, prints how many are open, and holds them until standard input ends.
import { connect } from 'node:net';

const [port, count] = process.argv.slice(2).map(Number);
const together = 200;
let open = 0;

const one = () =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      open++;
      resolve();
    });
    socket.on('error', resolve);
  });

for (let at = 0; at < count; at += together)
  await Promise.all(Array.from({ length: Math.min(together, count - at) }, one));
process.stdout.write(`${open}\n`);
process.stdin.resume();
process.stdin.on('end', () => process.exit());
