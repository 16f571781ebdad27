import manifest from '../package.json' with { type: 'json' }

/** The version in package.json, which is the only place where it is written. */
export const VERSION: string = manifest.version
