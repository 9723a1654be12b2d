// A GPU backend without its driver, then on the library that a variable of the environment names.
export async function gpuCase(createBackend, variable) {
  const library = process.env[variable];
  process.env[variable] = 'libnot-there.so';
  const { code, message } = await createBackend().catch((error) => error);
  console.log(`${code}: ${message}`);
  process.env[variable] = library;
  const backend = await createBackend();
  const step = backend.step();
  const sum = backend.add(step.input(Float32Array.of(1, 2), [2]), step.input(Float32Array.of(3, 4), [2]));
  console.log(`${backend.name}: ${await step.read(sum)}`);
  step.dispose();
  backend.dispose();
}
