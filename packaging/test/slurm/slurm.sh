#!/bin/sh
# Starts a Slurm with two nodes on this machine, which must be a throw-away one: it writes
# /etc/slurm, and makes four files that stand for GPUs, two for each node.
#
#	slurm.sh up [accounting] [cgroup]   start it; with slurmdbd and MariaDB; with real limits
#	slurm.sh edit SCRIPT                restart it without jobs and accounting, its settings edited by sed
#	slurm.sh down                       stop it
#	slurm.sh remove                     stop any Slurm and remove its settings, jobs and logs
#
# n1 has two a100 of 40 GB, n2 two h100 of 80 GB, as their features say. A shard is
# 10 GB. Node n3 is down. Anybody may submit; with accounting, alice and bob have
# accounts.
set -eu

address=192.0.2.1 # Slurm does not take a loopback one
state=/var/lib/slurm-test
log=/var/log/slurm

fail() {
	echo "slurm.sh: $*" >&2
	for f in "$log"/*.log; do
		[ -s "$f" ] && { echo "== $f" >&2; tail -n 15 "$f" >&2; }
	done
	exit 1
}

# until SECONDS WHAT COMMAND… waits for a command to succeed.
until_ok() {
	tries=$(($1 * 10)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "no $what"
		sleep 0.1
	done
}

# network gives the machine the address. It uses a network card that exists: the emulated machine's systemd-networkd
# would take a new card for the one through which the machine is reached, which would cut the machine off.
network() {
	card=eth0
	if ! ip link show $card >/dev/null 2>&1; then
		card=slurm0
		ip link show $card >/dev/null 2>&1 || ip link add $card type veth peer name slurm1
		ip link set $card up
		ip link set slurm1 up
	fi
	ip addr replace "$address/32" dev $card
	ip link set lo up
	grep -q "^$address" /etc/hosts || echo "$address $host" >>/etc/hosts
}

# files writes the settings. The GPUs are device nodes without a driver.
files() {
	install -d /etc/slurm "$state/d"
	install -d -o slurm "$state" "$state/ctld" "$log"
	for i in 0 1 2 3; do
		[ -e "/dev/slurm-gpu$i" ] || mknod -m 666 "/dev/slurm-gpu$i" c 195 "$((100 + i))"
	done
	tracking="ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none"
	constrain=no
	plugin=CgroupPlugin=cgroup/v1
	if [ "$cgroup" ]; then
		tracking="ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup"
		constrain=yes
		plugin=
	fi
	cat >/etc/slurm/cgroup.conf <<-END
		$plugin
		ConstrainDevices=$constrain
		ConstrainRAMSpace=$constrain
	END
	storage=AccountingStorageType=accounting_storage/none
	if [ "$accounting" ]; then
		storage="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$host
AccountingStoreFlags=job_comment
AccountingStorageTRES=gres/gpu,gres/shard"
	fi
	cat >/etc/slurm/gres.conf <<-END
		NodeName=n1 Name=gpu Type=a100 File=/dev/slurm-gpu[0-1]
		NodeName=n2 Name=gpu Type=h100 File=/dev/slurm-gpu[2-3]
		NodeName=n1 Name=shard Count=8 File=/dev/slurm-gpu[0-1]
		NodeName=n2 Name=shard Count=16 File=/dev/slurm-gpu[2-3]
	END
	cat >/etc/slurm/slurm.conf <<-END
		ClusterName=test
		SlurmctldHost=$host($address)
		AuthType=auth/munge
		SlurmUser=slurm
		StateSaveLocation=$state/ctld
		SlurmdSpoolDir=$state/d/%n
		SlurmctldPidFile=$state/slurmctld.pid
		SlurmdPidFile=$state/%n.pid
		SlurmctldLogFile=$log/slurmctld.log
		SlurmdLogFile=$log/slurmd-%n.log
		$tracking
		$storage
		MpiDefault=none
		SwitchType=switch/none
		ReturnToService=2
		KillWait=5
		MinJobAge=600
		MaxJobCount=50000
		MaxArraySize=10001
		SchedulerType=sched/backfill
		SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=0,defer_batch
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU_Memory
		DefMemPerCPU=100
		GresTypes=gpu,shard
		PriorityType=priority/multifactor
		PriorityWeightAge=1000
		SlurmdParameters=config_overrides
		NodeName=DEFAULT CPUs=8 RealMemory=16000 State=UNKNOWN
		NodeName=n1 NodeHostname=$host NodeAddr=$address Port=17001 Gres=gpu:a100:2,shard:8 Feature=a100,gpu_mem_40gb
		NodeName=n2 NodeHostname=$host NodeAddr=$address Port=17002 Gres=gpu:h100:2,shard:16 Feature=h100,gpu_mem_80gb
		NodeName=n3 NodeHostname=$host NodeAddr=$address Port=17003 State=DOWN Reason="broken on purpose"
		PartitionName=main Nodes=n1,n2 Default=YES DefaultTime=1:00:00 MaxTime=7-0 State=UP
		PartitionName=short Nodes=n1 MaxTime=5 State=UP
		PartitionName=broken Nodes=n3 State=UP
	END
}

database() {
	systemctl start mariadb
	# With MariaDB 11.8's client library, a connection on which slurmdbd created the database gets no answers.
	mariadb -e "create database if not exists slurm_acct_db; create user if not exists slurm@localhost identified via unix_socket; grant all on slurm_acct_db.* to slurm@localhost" </dev/null
	cat >/etc/slurm/slurmdbd.conf <<-END
		DbdHost=$host
		DbdAddr=$address
		SlurmUser=slurm
		LogFile=$log/slurmdbd.log
		PidFile=$state/slurmdbd.pid
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=slurm
		StorageLoc=slurm_acct_db
	END
	chown slurm /etc/slurm/slurmdbd.conf
	chmod 600 /etc/slurm/slurmdbd.conf
	slurmdbd </dev/null >/dev/null 2>&1 || fail "slurmdbd did not start"
	until_ok 60 slurmdbd sacctmgr -n show cluster
	sacctmgr -i add cluster test </dev/null >/dev/null || true
	sacctmgr -i add account lab </dev/null >/dev/null || true
	for user in root alice bob; do
		sacctmgr -i add user "$user" account=lab </dev/null >/dev/null || true
	done
}

up() {
	network
	files
	start
}

edit() {
	down
	files
	sed -i "$1" /etc/slurm/slurm.conf /etc/slurm/gres.conf
	rm -rf "$state/ctld"/* "$state/d"/*
	start
}

start() {
	systemctl start munge
	[ ! "$accounting" ] || database
	slurmctld </dev/null >/dev/null 2>&1 || fail "slurmctld did not start"
	slurmd -N n1 </dev/null >/dev/null 2>&1 || fail "slurmd n1 did not start"
	slurmd -N n2 </dev/null >/dev/null 2>&1 || fail "slurmd n2 did not start"
	until_ok 60 "idle nodes" idle
}

idle() { [ "$(sinfo -h -p main -o %T)" = idle ]; }

down() {
	for name in n1 n2 slurmctld slurmdbd; do
		[ -s "$state/$name.pid" ] || continue
		pid=$(cat "$state/$name.pid")
		kill "$pid" 2>/dev/null || continue
		tries=100
		while [ -e "/proc/$pid" ] && [ "$tries" -gt 0 ]; do
			tries=$((tries - 1))
			sleep 0.1
		done
		kill -9 "$pid" 2>/dev/null || continue # slurmctld 22.05 once hung when it ended, and the next one waited for it
		until_ok 10 "end of $name" [ ! -e "/proc/$pid" ]
		rm -f "$state/$name.pid"
	done
}

remove() {
	scancel -u alice,bob 2>/dev/null || true
	down
	systemctl stop slurmd slurmctld slurmdbd '*slurmstepd.scope'
	[ ! -d /var/lib/mysql/slurm_acct_db ] || mariadb -e "drop database slurm_acct_db" </dev/null
	systemctl stop munge mariadb
	rm -rf /etc/slurm/* /var/lib/slurm/slurm*/* "$state" "$log"/* /dev/slurm-gpu?
	sed -i "/^$address/d" /etc/hosts
	ip addr del "$address/32" dev eth0 2>/dev/null || true
	ip link delete slurm0 2>/dev/null || true
}

host=$(hostname)
host=${host%%.*}
accounting='' cgroup=''
command=${1:-}
[ "$#" = 0 ] || shift
if [ "$command" = edit ] && [ "$#" = 1 ]; then
	edit "$1"
	exit
fi
for word in "$@"; do
	case $word in
	accounting) accounting=yes ;;
	cgroup) cgroup=yes ;;
	*) command='' ;;
	esac
done
case $command in
up | down | remove) "$command" ;;
*)
	echo "usage: slurm.sh up [accounting] [cgroup] | edit SCRIPT | down | remove" >&2
	exit 2
	;;
esac
