import { extname } from 'node:path'

/**
 * The program for a process or a thread, in the folder of the module that starts it. It has that module's extension:
 * `.ts` in the repository, and `.js` in a package, which has what was built of it.
 *
 * @param name without the extension
 * @param module the `import.meta.url` of the module that starts it
 */
export const programBeside = (name: string, module: string): URL => new URL(`./${name}${extname(module)}`, module)
