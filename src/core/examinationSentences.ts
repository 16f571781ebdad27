/**
 * What the checks of `sluice doctor` say, by a code that stays when the words change. `{name}` stands for a value. A sentence about
 * a problem has the remedy. The dashboard has these sentences in other languages.
 */
export const SENTENCES = {
  /** From another part of Sluice, which has no code for it. */
  text: '{text}',
  node: '{version}',
  node_old: '{version} is too old; Sluice needs Node {major}: run it with npx sluice',
  addons: 'nothing is missing',
  config: 'read; the data is in {dir}',
  directory: '{dir} can be read and written',
  directory_new: '{dir} does not exist yet; `sluice serve` creates it',
  directory_impossible:
    '{dir} does not exist, and this user cannot make it in {parent}: make it, and give it to this user',
  directory_wrong: '{dir} is not a directory; set data.dir or --data',
  directory_closed: '{dir} cannot be read and written by this user; give it to the user that runs Sluice',
  open_files: 'the limit is {limit}',
  open_files_few:
    'the limit of {limit} allows at most {http} HTTP and {rtmp} RTMP connections: raise it (ulimit -n, LimitNOFILE=)',
  open_files_few_shell:
    'the limit of {limit} of this shell allows at most {http} HTTP and {rtmp} RTMP connections; a service has its own (LimitNOFILE=)',
  open_files_shell: 'the limit of this shell is {limit}; the server has its own, and its log says if that is low',
  memory: 'up to {limit} MB',
  memory_small:
    'up to {limit} MB, and a server with {processes} media processes needs {needed}: raise MemoryMax= or --memory, or lower webrtc.processes',
  store: '{name} can be read and written, and its tables are up to date',
  store_new: '{file} does not exist yet; `sluice serve` creates it',
  store_large: '{name} is large, so its pages were not checked; check those of a backup',
  store_damaged:
    '{name} is damaged, and requests that touch the damage fail ({problem}): stop the server, keep the file, and restore a backup',
  sealing: 'opens existing tokens',
  sealing_unused: 'usable; there is no token to open yet',
  sealing_wrong:
    '{problem}; bring back the key of this store (secrets.sealingKey, or sealing.key in the data directory)',
  connections: 'a node opens up to {ours}; the database server takes {most}, and {open} are open',
  connections_few:
    'a node opens up to {ours}; the database server takes {most}, and {open} are open; raise the limit (max_connections) or lower storage.poolSize',
  database_durable: 'a commit waits for the disk',
  database_not_durable: 'fsync or synchronous_commit is off, so a crash loses what Sluice acknowledged: switch both on',
  database_clock: 'the clock of this machine is that of the database',
  database_clock_ahead: '{seconds} s ahead of the database; Sluice uses the clock of the database; set both with NTP',
  database_clock_behind: '{seconds} s behind the database; Sluice uses the clock of the database; set both with NTP',
  store_clock: 'no recorded change is in the future',
  store_clock_ahead: 'the last change is {seconds} s in the future; set the clocks with NTP',
  handover_no_url: 'other nodes serve too, so set server.nodeUrl: viewers of their streams are refused here',
  handover_same_url: '{nodes} nodes have the server.nodeUrl {url}: give each its own, or viewers miss their streams',
  handover_redirect: 'redirect: WebRTC viewers of a stream at another node are sent there',
  handover_unused: 'cascade: none comes from one node to another now; nothing has kept a stream from coming',
  handover_works: 'cascade: {streams} come from one node to another now; nothing has kept a stream from coming',
  handover_fails:
    'cascade: {streams} come from one node to another now; between {failed} pairs of nodes streams do not come, as said below',
  attention: 'nothing needs attention',
  file_clock: 'agrees with the file system',
  file_clock_ahead: '{seconds} s ahead of the file system; set the clock with NTP',
  file_clock_behind: '{seconds} s behind the file system; set the clock with NTP',
  time_server: 'agrees with {server}',
  time_server_ahead: '{seconds} s ahead of {server}; set the clock with NTP',
  time_server_behind: '{seconds} s behind {server}; set the clock with NTP',
  time_server_none: 'not asked: name a time server with --time-server HOST',
  time_server_wrong: '{server} is not HOST or HOST:PORT',
  time_server_silent: 'no answer from {server} within 2 s: a firewall may block UDP',
  disk_space: '{free} MB left in {dir}',
  disk_space_low: '{free} MB left in {dir}: an upgrade and normal operation need {needed} MB; make room',
  recordings_low: '{free} MB left in {dir}: no recording starts below {least} (recordings.minFreeMegabytes); make room',
  disk_closed: 'no file can be written in {dir}: it {problem}; make room, or put the disk right',
  disk_speed: 'a durable write takes {ms} ms',
  disk_slow: 'a durable write takes {ms} ms: use a faster disk for data.dir (SSD, no network mount), or PostgreSQL',
  webhook_certificates: '{file} is used to check receivers',
  webhook_certificates_wrong: '{file} cannot be read as certificates: {problem}; see webhooks.caFile',
  tls_authority: 'devices have to trust the authority in {file}: see /ca.pem',
  certificate: 'the certificate expires in {days} days, on {date}',
  certificate_soon: 'the certificate expires in {days} days, on {date}: renew it',
  certificate_expired: 'the certificate has expired on {date}: renew it',
  certificate_other: 'the certificate is for {names}, not for the host of server.publicUrl, {host}',
  certificate_none: 'there is no certificate yet: a running server gets it',
  private_key_open: '{file} can be read by other users of this machine: chmod 600 it',
  countries: '{file} is {days} days old',
  countries_none: 'none: the country of every address is unknown (geoip.database)',
  countries_missing: '{file} does not exist, or is closed to this user; correct geoip.database, or remove it',
  countries_unreadable: '{file} cannot be read as an MMDB file, so no server starts with it; replace it: {problem}',
  countries_old: '{file} is {days} days old; replace it: Sluice reads it again when it changes',
  host_ipv4:
    'this machine has IPv6 addresses alone, and {keys} listens on IPv4 alone (0.0.0.0), so others cannot connect: set it to ::',
  port_free: '{host} port {port} is free',
  port_own: 'this server listens on {host} port {port}',
  port_answers: 'a server answers on {host} port {port}',
  port_hangs:
    'the server of this data directory (process {pid}) has {host} port {port} and does not answer: look into its log, then restart it',
  media_ports_used: 'not checked, because a server runs and uses them',
  srt_port_taken: '{problem}: end what uses it, or set srt.port (or switch it off with srt.enabled)',
  udp_port: 'port {port} is free',
  udp_ports: 'ports {first} to {last} are free',
  udp_ports_any: 'any free ones (webrtc.port is 0)',
  udp_ports_taken: '{problems}: end what uses them, or set webrtc.port',
  address: 'others see {seen}, which Sluice announces; UDP gets out and back',
  address_not_asked: 'not checked: webrtc.iceServers has no stun: server to ask which address others see',
  address_silent:
    'no answer over UDP from {servers} within 2 s: a firewall may block UDP, or webrtc.iceServers is wrong',
  address_translated:
    'others see {seen}; this machine is behind NAT: set webrtc.publicAddresses to it, and forward the UDP ports of webrtc.port',
  address_wrong:
    'others see {seen}; webrtc.publicAddresses has {announced}: correct it, and forward the UDP ports of webrtc.port',
  url: 'this installation answers at {origin}',
  url_not_asked: 'not asked, because no server runs on this machine',
  url_failed: '{origin}: {problem}; correct DNS, the certificate or server.publicUrl',
  url_not_reached:
    '{origin}: {problem}; ask from another network: if it works there, the router is the cause; else open the port, or correct DNS or the URL',
  url_unsigned: 'Sluice answers at {origin}; without its sealing key nobody can say which',
  url_other_sluice:
    '{origin}: a Sluice with another sealing key, or of an older version, answers there: correct DNS, the proxy or server.publicUrl',
  url_redirects: '{origin} redirects its clients: set server.publicUrl to where it leads',
  url_bad_gateway:
    '{origin} answers with status {status}: the proxy there does not reach Sluice: correct the address that it passes requests to',
  url_stranger:
    '{origin} answers with status {status}: something other than Sluice answers there: correct the proxy or server.publicUrl',
  proxy: '{from} is trusted, and says who its clients are',
  proxy_named: '{from} is trusted, and says who its clients are: this machine is {client}',
  proxy_trusted: 'X-Forwarded-For of {proxies} is trusted',
  proxy_not_listed:
    'a public URL has https, but server.trustedProxies is empty: Sluice takes all clients for the proxy in front. List its addresses',
  proxy_not_trusted:
    '{from} sends X-Forwarded-For, but server.trustedProxies does not list it: Sluice takes all clients for the proxy. List its address',
  proxy_passes_claims:
    '{from} passes on what clients claim in X-Forwarded-For, so each can choose its address: let it set the header, or append the address',
  proxy_silent: '{from} sends no X-Forwarded-For: Sluice takes all clients for the proxy; let it send the header',
  proxy_silent_not_listed:
    '{from} sends no X-Forwarded-For: Sluice takes all clients for the proxy; let it send the header, and list it in server.trustedProxies',
  udp_buffers: '{limits}',
  udp_buffers_small:
    '{limits}, so bursts to many viewers lose packets; run: sysctl -w {settings}, and keep it in /etc/sysctl.d',
  ffmpeg: '{version}',
  ffmpeg_missing:
    'not found: WebRTC works, and HLS of H.264 with AAC, but no channels, recordings, cameras or conversions; install it or set ffmpeg.path',
  ffmpeg_broken: '{path} does not run: {problem}; install another build, or set ffmpeg.path',
  ffmpeg_old:
    '{version} is older than 5.1, so channels, recordings and conversions fail; install a newer one, or set ffmpeg.path',
  ffmpeg_offline: 'started by this user, it has no network where it needs none ({launcher})',
  ffmpeg_online: 'unshare does not work here, so ffmpeg keeps the network of this host',
  encoders: '{names}',
  encoder_missing_libx264:
    'ffmpeg lacks libx264 (channels, and video with B-frames over WebRTC): install a build with it, or set ffmpeg.path',
  encoder_missing_aac: 'ffmpeg lacks aac (HLS and recordings of browsers): install a build with it, or set ffmpeg.path',
  encoder_missing_libopus:
    'ffmpeg lacks libopus (the audio of RTMP over WebRTC): install a build with it, or set ffmpeg.path',
  video_encoder: '{name} works',
  video_encoder_libx264: 'libx264 does not work, so no channel plays: {problem}',
  video_encoder_broken:
    '{name} does not work, so the server does not start: {problem}; correct ffmpeg.path, ffmpeg.device or the driver, or take libx264',
  hardware_none: 'this ffmpeg has no others',
  hardware_working: '{working} would work: see ffmpeg.videoEncoder',
  hardware_absent: 'ffmpeg has {absent}, and this machine does not',
  hardware_some: '{working} would work: see ffmpeg.videoEncoder; ffmpeg has {absent}, and this machine does not',
} as const satisfies Record<string, string>

export type DoctorCode = keyof typeof SENTENCES
