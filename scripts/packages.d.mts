import type { SpawnSyncOptions } from 'node:child_process'

export { compilerFor } from './native.mjs'
export function build(): Promise<void>

/** Paths everywhere. `app`: what `stage` returned. */
export function packTarball(directory: string): string
/** `arch` is Node's name of a processor, and this machine's if it is absent. */
export function stage(tarball: string, directory: string, arch?: string): string

export const GLIBC: string
export function buildDeb(
  app: string,
  directory: string,
  options?: { version?: string; arch?: string; compression?: readonly string[] },
): string

export function buildImage(app: string, name: string, options?: { tool?: string; base?: string }): void
/** `app`: what `stage` returned. */
export function writeSbom(app: string, file: string): void
export function releaseNotes(changelog: string, version: string): string
/** Debian's name of a processor. */
export function debianArchitecture(arch: string): string
export function run(program: string, args: readonly string[], options?: SpawnSyncOptions): string
