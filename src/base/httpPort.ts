/** The port of an HTTP URL: the one in it, or the usual one of its scheme. */
export const httpPort = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80))
