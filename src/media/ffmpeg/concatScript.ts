/**
 * A script for ffmpeg's concat demuxer that names one input, because every user of the machine can read arguments.
 * @param options of the input, by name
 * @throws for a control character, which could end a line; a checked address has none
 */
export function concatScript(url: string, options: Readonly<Record<string, string>>): string {
  const lines = Object.entries(options).map(([name, value]) => `option ${name} ${quoted(value)}`)
  return `${['ffconcat version 1.0', `file ${quoted(url)}`, ...lines].join('\n')}\n`
}

/** The same for files, one behind another. Without a protocol they would have that of the script, a pipe. */
export const filesScript = (files: readonly string[]): string =>
  `${['ffconcat version 1.0', ...files.map((file) => `file ${quoted(`file:${file}`)}`)].join('\n')}\n`

function quoted(text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f]/.test(text)) throw new Error('a source with control characters cannot be pulled')
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
