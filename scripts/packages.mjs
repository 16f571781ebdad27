// What makes the packages, for the release, its tests and its bench. The types are in packages.d.mts.
export { build } from './build.mjs'
export { ARCHITECTURES, compilerFor } from './native.mjs'
export { buildDeb, GLIBC } from './packages/deb.mjs'
export { buildImage, imageTool, saveImage } from './packages/image.mjs'
export { releaseNotes, writeChecksums, writeSbom } from './packages/notes.mjs'
export { debianArchitecture, isInstalled, manifest, run } from './packages/run.mjs'
export { packTarball, stage } from './packages/stage.mjs'
