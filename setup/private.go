package setup

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// credential are files and folders that hold what lets somebody in elsewhere, or
// tells what a person does. They are hidden from tools of a home that has walls.
type credential struct {
	of    string // what they are of
	names string // separated by spaces; a * stands for anything but /
}

// credentials is the table of those in the home of a user.
func usersCredentials() []credential {
	return []credential{
		{"keys", ".ssh .gnupg .pki .age .config/age .config/sops .step .putty .config/wireguard .config/rouse"},
		{"clouds", ".aws .azure .config/gcloud .oci .ibmcloud .bluemix .aliyun .tccli .kube .boto .s3cfg .mc .passwd-s3fs .b2_account_info .config/b2 " +
			".config/rclone .rclone.conf .config/doctl .config/hcloud .config/scw .config/linode-cli .config/fly .fly .config/ngrok .ngrok2 .cloudflared " +
			".config/.wrangler .wrangler .config/netlify .netlify .local/share/com.vercel.cli .railway .supabase .config/heroku .databrickscfg .snowsql .snowflake " +
			".bigqueryrc .terraform.d/credentials.tfrc.json .terraformrc .pulumi/credentials.json .vault-token .smbcredentials .davfs2 .config/filezilla .config/Nextcloud"},
		{"containers", ".docker .config/containers .config/podman .config/lxc .dockercfg .config/helm"},
		{"package managers", ".npmrc .yarnrc .yarnrc.yml .pypirc .config/pypoetry/auth.toml .cargo/credentials .cargo/credentials.toml .gem/credentials .local/share/gem/credentials " +
			".bundle/config .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .sbt/.credentials .ivy2/.credentials .composer/auth.json .config/composer/auth.json " +
			".nuget/NuGet .config/NuGet .hex/hex.config .pub-cache/credentials.json .config/dart/pub-credentials.json .condarc .continuum .local/share/uv/credentials .jfrog"},
		{"git", ".git-credentials .config/git/credentials .cache/git/credential .netrc _netrc .gitcookies .config/gh .config/hub .config/glab-cli .config/tea .config/lab .gcm"},
		{"browsers", ".mozilla .librewolf .waterfox .config/google-chrome* .config/chromium .config/BraveSoftware .config/microsoft-edge* .config/opera .config/vivaldi .config/falkon " +
			".local/share/epiphany .local/share/torbrowser .local/share/qutebrowser snap/firefox snap/chromium .var/app"},
		{"mail and talk", ".thunderbird .icedove .local/share/evolution .config/evolution .mutt .muttrc .config/mutt .config/neomutt .msmtprc .config/msmtp .mbsyncrc .config/isyncrc " +
			".offlineimaprc .fetchmailrc .getmail .config/aerc .claws-mail .config/geary .local/share/geary .local/share/akonadi .local/share/kmail2 .local/share/local-mail " +
			"Mail Maildir .maildir .local/share/mail mbox .config/Signal .config/Slack .config/discord .config/Element .local/share/TelegramDesktop .weechat .config/weechat .irssi .purple"},
		{"passwords", ".password-store .local/share/gopass .config/gopass .local/share/keyrings .gnome2/keyrings .local/share/kwalletd .kde/share/apps/kwallet .config/keepassxc *.kdbx " +
			".config/Bitwarden* .config/1Password .config/op .op .lastpass .local/share/lpass .authinfo .authinfo.gpg .Xauthority .ICEauthority"},
		{"AI tools", ".codex .claude .claude.json .config/claude .config/openai .openai .config/anthropic .anthropic .gemini .config/github-copilot .config/goose .aider.conf.yml .config/aichat " +
			".config/io.datasette.llm .continue .cursor .config/Cursor .codeium .config/opencode .local/share/opencode .config/mods .config/fabric .config/cody .qwen " +
			".huggingface .cache/huggingface/token .cache/huggingface/stored_tokens .kaggle .config/kaggle .config/wandb .replicate .ollama/id_ed25519"},
		{"databases", ".pgpass .my.cnf .mylogin.cnf .odbc.ini .dbshell .rediscli_auth .config/pgadmin .pgadmin .local/share/DBeaverData .config/clickhouse-client .clickhouse-client"},
		{"histories", ".*_history .histfile .zhistory .zsh_sessions .bash_sessions .local/share/fish/fish_history .local/share/atuin .config/nushell/history.* .lesshst .viminfo " +
			".local/state/bash .local/state/zsh .local/state/python_history .local/share/recently-used.xbel"},
	}
}

// systemCredentials is the table of those of the machine. Most are hidden from
// ordinary users by the machine itself, but not from root.
func systemCredentials() []credential {
	return []credential{
		{"users", "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/security/opasswd /var/lib/AccountsService /var/db/sudo /var/lib/sudo"},
		{"keys", "/etc/ssh/ssh_host_*_key /etc/ssl/private /etc/pki/tls/private /etc/letsencrypt /etc/krb5.keytab /etc/wireguard /etc/openvpn /etc/ipsec.secrets /etc/ipsec.d/private /etc/swanctl " +
			"/etc/luks /etc/cryptsetup-keys.d /var/lib/tailscale /var/lib/caddy /var/lib/acme /etc/vault.d /etc/credstore /etc/credstore.encrypted /run/credentials /run/secrets"},
		{"networks", "/etc/NetworkManager/system-connections /etc/wpa_supplicant /etc/ppp/*-secrets /var/lib/iwd /var/lib/bluetooth /etc/netplan"},
		{"containers", "/etc/kubernetes /var/lib/kubelet /etc/rancher /var/lib/rancher /etc/docker/key.json /var/lib/docker /var/lib/containerd /run/containers /var/lib/lxd /var/lib/incus /var/lib/cloud " +
			"/var/lib/lxd/unix.socket /var/lib/incus/unix.socket /var/lib/incus/unix.socket.user /var/snap/lxd/common/lxd/unix.socket /var/snap/lxd/common/lxd-user/unix.socket"}, // whoever has one is root
		{"package managers", "/etc/apt/auth.conf /etc/apt/auth.conf.d/* /etc/rhsm /etc/pki/consumer /etc/pki/entitlement"},
		{"services", "/etc/mysql/debian.cnf /etc/postfix/sasl_passwd /etc/postfix/sasl_passwd.db /etc/exim4/passwd.client /etc/dovecot/private /var/lib/samba/private /etc/samba/credentials /etc/rsyncd.secrets " +
			"/etc/boto.cfg /etc/msmtprc /etc/restic /etc/borgmatic /var/spool/cron"},
		{"mail", "/var/mail /var/spool/mail"},
	}
}

// private are the credentials that are there and that Rouse could read, without links:
// those in the homes of a user, and those of the machine.
func (l *lay) private(users ...string) (paths []string) {
	for _, user := range users {
		for _, c := range usersCredentials() {
			for name := range strings.FieldsSeq(c.names) {
				paths = append(paths, l.find(user, name)...)
			}
		}
	}
	for _, c := range systemCredentials() {
		for path := range strings.FieldsSeq(c.names) {
			if dir, name := filepath.Split(path); strings.Contains(name, "*") {
				paths = append(paths, l.find(filepath.Clean(dir), name)...)
			} else if unix.Access(path, unix.R_OK) == nil {
				paths = append(paths, l.real(path))
			}
		}
	}
	return paths
}

// systemFolders are those that programs need.
func systemFolders() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap", "/sys", "/run/current-system", "/run/wrappers",
		"/var/lib/apt", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/ca-certificates", "/var/cache/apt", "/var/cache/fontconfig",
		"/Library", "/System", "/private/etc",
	}
}

// programs are the folders outside of these in which the programs of a PATH lie, with
// what belongs to them: beside a bin there mostly is a lib.
func programs(path []string, user string) (dirs []string) {
	for _, dir := range path {
		top := filepath.Dir(dir)
		switch {
		case !filepath.IsAbs(dir):
			continue
		case filepath.Base(dir) == "bin" && top != user && top != filepath.Join(user, ".local") && top != "/":
			dir = top
		case top == filepath.Join(user, ".local"):
			dirs = append(dirs, filepath.Join(top, "lib"), filepath.Join(top, "pipx"), filepath.Join(top, "share", "uv"))
		}
		if _, err := os.Stat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
