/** The text between `<!-- name -->` and `<!-- /name -->`, replaced. Throws if a mark is missing. */
export function replaceMarked(text, name, section) {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no marks ${start} … ${end}`);
  return `${text.slice(0, from + start.length)}\n\n${section}\n\n${text.slice(to)}`;
}
