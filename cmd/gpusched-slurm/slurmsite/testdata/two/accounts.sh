#!/bin/sh
# Made by 'gpusched export slurm': classes as QOS, and the shares and quotas of users and groups.
# Run it as root once slurmdbd and slurmctld are up; it can be run again. Users who are not in it
# may submit nothing: add them with 'sacctmgr add user NAME account=gpusched'.
set -e
exec </dev/null # sacctmgr may ask
sacctmgr -i add qos scavenger || true
sacctmgr -i modify qos scavenger set Priority=0
sacctmgr -i add qos low || true
sacctmgr -i modify qos low set Priority=250 Preempt=scavenger
sacctmgr -i modify qos normal set Priority=500 Preempt=scavenger
sacctmgr -i add qos high || true
sacctmgr -i modify qos high set Priority=750 Preempt=scavenger
sacctmgr -i add qos interactive || true
sacctmgr -i modify qos interactive set Priority=1000 Preempt=scavenger MaxWall=0-08:00:00
sacctmgr -i add account gpusched Description=gpusched Organization=gpusched || true
sacctmgr -i modify account gpusched set QOS=scavenger,low,normal DefaultQOS=normal
sacctmgr -i add account students Description=gpusched Organization=gpusched Parent=gpusched || true
sacctmgr -i modify account students set Fairshare=3 GrpTRES=cpu=-1,mem=-1,gres/gpu=1 GrpJobs=-1 GrpSubmitJobs=-1 GrpTRESMins=gres/gpu=18000
sacctmgr -i add user alice Account=gpusched DefaultAccount=gpusched || true
sacctmgr -i modify user alice set Fairshare=2 GrpTRES=cpu=41,mem=243960,gres/gpu=4 GrpJobs=250 GrpSubmitJobs=20250 GrpTRESMins=gres/gpu=-1 where Account=gpusched
sacctmgr -i add user bob Account=students DefaultAccount=students || true
sacctmgr -i modify user bob set Fairshare=1 GrpTRES=cpu=41,mem=243960,gres/gpu=-1 GrpJobs=250 GrpSubmitJobs=20250 GrpTRESMins=gres/gpu=-1 where Account=students
