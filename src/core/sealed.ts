/** Every column with a sealed value. A value opens only in its own context. */
export const SEALED_COLUMNS = {
  token: { table: 'tokens', column: 'value_sealed', context: 'token:value' },
  restreamKey: { table: 'restream_keys', column: 'key_sealed', context: 'restream:key' },
  pull: { table: 'pulls', column: 'url_sealed', context: 'pull:url' },
  webhook: { table: 'webhooks', column: 'secret_sealed', context: 'webhook:secret' },
  engineTargets: { table: 'engines', column: 'target_keys_sealed', context: 'engine:targets' },
  ingest: { table: 'ingests', column: 'secret_sealed', context: 'ingest:secret' },
  distributionKey: { table: 'distribution_keys', column: 'key_sealed', context: 'distribution:key' },
  acme: { table: 'acme_values', column: 'value_sealed', context: 'acme:value' },
} as const

export type SealedKind = keyof typeof SEALED_COLUMNS
